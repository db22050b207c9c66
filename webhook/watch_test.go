package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// seenByWatch is what a watch has seen: the position of prod's change, and those of answered refreshes by name.
type seenByWatch struct {
	position, changed uint64
	// compared is the position of prod's last comparison.
	compared uint64
	fresh    map[string]uint64
	// deployed is the comparison at which prod was seen Synced, and operatedAt the start of the last operation that was
	// seen.
	deployed   argocd.Fingerprint
	operatedAt time.Time
	completed  map[string][]policy.Source
	// requested is the position of the newest request for a refresh.
	requested uint64
	// unproven says that it is not known by what prod was deployed, and the times are what policy.Seen has.
	unproven                          bool
	contentSince, joined, respecified time.Time
}

func (s *seenByWatch) Deployed(_ types.UID, compared argocd.Fingerprint, operatedAt time.Time) bool {
	return s.deployed != 0 && s.deployed == compared && s.operatedAt.Equal(operatedAt)
}

func (s *seenByWatch) RequestedSince(_ types.UID, position uint64) bool {
	return s.requested > position
}

func (s *seenByWatch) Observed(types.UID) bool { return true }

func (s *seenByWatch) Position() uint64 { return s.position }

func (s *seenByWatch) DeployedWith(types.UID) (string, bool) { return "", !s.unproven }

func (s *seenByWatch) ContentSince(types.UID, argocd.Fingerprint) time.Time { return s.contentSince }

func (s *seenByWatch) Changed(types.UID, []policy.Source, argocd.Fingerprint) uint64 {
	return s.changed
}

func (s *seenByWatch) ComparedAt(types.UID, time.Time) uint64 { return s.compared }

func (s *seenByWatch) Seen(_ *policy.ApplicationSet, changed, compared uint64) policy.Seen {
	return policy.Seen{Joined: s.joined, Respecified: s.respecified, Of: func(name string) policy.Past {
		position := s.fresh[name]
		past := policy.Past{}
		if position > changed {
			past.Freshness = policy.Fresh
		}
		if position > max(changed, compared) {
			past.Freshness = policy.Newest
		}
		for _, source := range s.completed[name] {
			past.Completions = append(past.Completions, policy.Completion{Sources: []policy.Source{source}})
		}
		return past
	}}
}

// TestTheWatchDecides has dev and prod of different repositories: only a comparison of dev that is known to be newer
// than the change to prod shows that dev has seen its own.
func TestTheWatchDecides(t *testing.T) {
	answered := map[string]uint64{"dev": 5}
	for name, tc := range map[string]struct {
		watch       *seenByWatch
		edit        func(*attempt)
		wantAllowed bool
	}{
		"dev was never refreshed":                {watch: &seenByWatch{changed: 3, position: 9}},
		"dev was refreshed since":                {watch: &seenByWatch{changed: 3, position: 9, fresh: answered}, wantAllowed: true},
		"dev was refreshed before":               {watch: &seenByWatch{changed: 7, position: 9, fresh: answered}},
		"another Application was refreshed":      {watch: &seenByWatch{changed: 3, position: 9, fresh: map[string]uint64{"qa": 5}}},
		"the operation names another revision":   {watch: &seenByWatch{changed: 3, position: 9, fresh: answered}, edit: func(a *attempt) { a.after.Operation.Sync.Revision = commit("c") }},
		"the spec changes in the same write":     {watch: &seenByWatch{changed: 3, position: 9, fresh: answered}, edit: func(a *attempt) { a.after.Spec.Source.Path = "elsewhere" }},
		"another revision, and dev is refreshed": {watch: &seenByWatch{changed: 3, position: 4, fresh: answered}, edit: func(a *attempt) { a.after.Operation.Sync.Revision = commit("c") }, wantAllowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterOf("1:dev=Healthy@a 3:prod=Healthy@b")
			own := "https://git.example.com/prod.git"
			c.apps[1].Spec.Source.RepoURL, c.apps[1].Status.Sync.ComparedTo.Source.RepoURL = own, own
			write := syncOf(c, "prod")
			if tc.edit != nil {
				tc.edit(write)
			}
			trial := newTrial(testConfig(), c)
			trial.judge.Watch = tc.watch
			NewWithT(t).Expect(trial.handle(write.request()).Allowed).To(Equal(tc.wantAllowed))
		})
	}
}

// TestAWishThatWasNotComparedIsRemembered names a commit that prod was not compared with. The first request tells since
// when dev has to be compared: the second one, after the refresh that the first has asked for, is allowed.
func TestAWishThatWasNotComparedIsRemembered(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy@a 3:prod=Healthy@b")
	own := "https://git.example.com/prod.git"
	c.apps[1].Spec.Source.RepoURL, c.apps[1].Status.Sync.ComparedTo.Source.RepoURL = own, own
	write := syncOf(c, "prod")
	write.after.Operation.Sync.Revision = commit("c")
	config := testConfig()
	config.Release = true
	trial := newTrial(config, c)
	watch := &seenByWatch{position: 9, fresh: map[string]uint64{"dev": 5}}
	trial.judge.Watch = watch

	g.Expect(trial.handle(write.request()).Allowed).To(BeFalse())
	g.Expect(trial.refreshes.asked).To(HaveLen(1))
	watch.position, watch.fresh["dev"] = 12, 11
	g.Expect(trial.handle(write.request()).Allowed).To(BeTrue())

	write.after.Operation.Sync.Revision = commit("d")
	g.Expect(trial.handle(write.request()).Allowed).To(BeFalse(), "another wish")
	write.dryRun = true
	write.after.Operation.Sync.Revision = commit("e")
	g.Expect(trial.handle(write.request()).Allowed).To(BeFalse())
	watch.position, watch.fresh["dev"] = 14, 13
	g.Expect(trial.handle(write.request()).Allowed).To(BeFalse(), "a server dry-run leaves nothing behind")
}

// TestSelfHealOfWhatWasNeverSynced has prod Synced with a commit that does not touch it, and then somebody changes the
// cluster. dev is still rolling that commit out.
func TestSelfHealOfWhatWasNeverSynced(t *testing.T) {
	for name, tc := range map[string]struct {
		seen        bool
		edit        func(*attempt)
		wantAllowed bool
	}{
		"it was seen Synced":             {seen: true, wantAllowed: true},
		"it was not":                     {},
		"an operation was not seen":      {seen: true, edit: func(a *attempt) { a.before.Status.OperationState.StartedAt = metav1.NewTime(noon) }},
		"another revision":               {seen: true, edit: func(a *attempt) { a.after.Operation.Sync.Revision = commit("c") }},
		"another source":                 {seen: true, edit: func(a *attempt) { a.after.Operation.Sync.Source.Path = "elsewhere" }},
		"no source: the newest spec":     {seen: true, edit: func(a *attempt) { a.after.Operation.Sync.Source = nil }},
		"the spec changes in that write": {seen: true, edit: func(a *attempt) { a.after.Spec.Destination.Namespace = "elsewhere" }},
		"no revision: the newest in git": {seen: true, edit: func(a *attempt) { a.after.Operation.Sync.Revision = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterOf("1:dev=Progressing@b 3:prod=Healthy@b")
			write := syncOf(c, "prod")
			write.after.Operation.Sync.Revision, write.after.Operation.Sync.Source = commit("b"), write.before.Spec.Source.DeepCopy()
			operated := metav1.NewTime(noon.Add(-time.Hour))
			write.before.Status.OperationState = &argo.OperationState{Phase: "Succeeded", StartedAt: operated, FinishedAt: &operated}
			trial := newTrial(testConfig(), c)
			watch := &seenByWatch{operatedAt: operated.Time}
			if tc.seen {
				watch.deployed = argocd.NewFingerprint(&write.before.Status.Sync)
			}
			if tc.edit != nil {
				tc.edit(write)
			}
			trial.judge.Watch = watch
			NewWithT(t).Expect(trial.handle(write.request()).Allowed).To(Equal(tc.wantAllowed))
		})
	}
}
