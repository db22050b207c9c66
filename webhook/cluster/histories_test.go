// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

func at(repo, revision string) []policy.Source {
	return []policy.Source{{Key: repo, Revision: revision}}
}

// watching plays events of a watch: NAME=REVISION/STATUS, and after that, in this order and each optional, %SECOND for
// the time of the comparison, ! for a pending request for a refresh, ^ for a spec that has changed since, and
// +PHASE of an operation. NAME=gone, NAME=missed and NAME=odd end it, or are no Application.
func watching(events string) *Histories {
	s := NewHistories(clock.RealClock{})
	watch := (&Cache{Histories: s, changed: func(types.NamespacedName) {}}).applications()
	statuses := map[string]string{"S": "Synced", "O": "OutOfSync", "U": "Unknown"}
	for _, event := range strings.Fields(events) {
		name, rest, _ := strings.Cut(event, "=")
		p := &argocd.Projection{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Owner: "set"}
		switch rest {
		case "gone":
			watch.OnDelete(p)
		case "missed":
			watch.OnDelete(cache.DeletedFinalStateUnknown{Obj: p})
		case "odd":
			watch.OnAdd("odd", false)
			watch.OnDelete("odd")
		default:
			rest, phase, _ := strings.Cut(rest, "+")
			rest, respecified := strings.CutSuffix(rest, "^")
			rest, refresh := strings.CutSuffix(rest, "!")
			rest, second, timed := strings.Cut(rest, "%")
			revision, status, _ := strings.Cut(rest, "/")
			p.Compared = fingerprintOf(revision)
			p.Application = policy.Application{
				Compared: at("repo", revision), SyncStatus: statuses[status], SpecCompared: !respecified, RefreshRequested: refresh,
				LastOperation: policy.LastOperation{Phase: phase},
			}
			if seconds, err := strconv.Atoi(second); timed && err == nil {
				p.Application.ReconciledAt = time.Unix(int64(seconds), 0)
			}
			watch.OnUpdate(nil, p)
		}
	}
	return s
}

// pastOf is what was seen of an Application of the ApplicationSet.
func pastOf(s *Histories, name string, changed, compared uint64) policy.Past {
	seen := s.History(&policy.ApplicationSet{UID: "set"}, changed, compared)
	return seen.Past(name)
}

// TestChanged asks at which event the change to revision b of prod was first seen.
func TestChanged(t *testing.T) {
	for name, row := range map[string]struct {
		events string
		want   uint64
	}{
		"nothing was seen":                              {"", 0},
		"another revision: now":                         {"prod=a/S dev=a/S", 2},
		"it appears":                                    {"prod=a/S prod=b/O", 2},
		"comparing it again changes nothing":            {"prod=a/S prod=b/O dev=a/S prod=b/O", 2},
		"nor does syncing it":                           {"prod=a/S prod=b/O prod=b/S", 2},
		"falling OutOfSync anew is a new change":        {"prod=a/S prod=b/O prod=b/S prod=b/O dev=a/S prod=b/O", 4},
		"the watch began later":                         {"dev=a/S prod=b/O dev=b/S prod=b/O", 2},
		"it went away: now":                             {"prod=b/O prod=c/O dev=a/S", 3},
		"it came back":                                  {"prod=b/O prod=a/O prod=b/O", 3},
		"a comparison that failed is not one of it":     {"prod=b/O prod=/U prod=b/O", 3},
		"an Application that is gone is forgotten: now": {"prod=b/O dev=a/S prod=gone", 2},
		"one of whose end the watch missed is, too":     {"prod=b/O dev=a/S prod=missed", 2},
		"an object of another kind changes nothing":     {"prod=b/O x=odd", 1},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(watching(row.events).Changed("prod", at("repo", "b"), fingerprintOf("b"))).To(Equal(row.want))
		})
	}
}

// TestChangedParameters lets prod be compared with other parameters at the same revision.
func TestChangedParameters(t *testing.T) {
	g := NewWithT(t)
	s := NewHistories(clock.RealClock{})
	prod := func(parameters argocd.Fingerprint) *argocd.Projection {
		return &argocd.Projection{
			ObjectMeta: metav1.ObjectMeta{UID: "prod"}, Owner: "set", Compared: parameters,
			Application: policy.Application{Compared: at("repo", "b"), SyncStatus: "OutOfSync", SpecCompared: true},
		}
	}
	s.Observe(prod(1))
	s.Observe(prod(1))
	g.Expect(s.Changed("prod", at("repo", "b"), 1)).To(BeEquivalentTo(1))
	s.Observe(prod(2))
	g.Expect(s.Changed("prod", at("repo", "b"), 2)).To(BeEquivalentTo(3), "a new change")
	g.Expect(s.Changed("prod", at("repo", "b"), 3)).To(BeEquivalentTo(3), "the watch has not seen that yet: now")
}

// TestFresh asks whether dev is known to be compared since the second event.
func TestFresh(t *testing.T) {
	for name, row := range map[string]struct {
		events string
		want   bool
	}{
		"never asked":                             {"dev=a/S prod=b/O dev=a/S%1", false},
		"asked and answered":                      {"dev=a/S prod=b/O dev=a/S! dev=a/S%1", true},
		"answered with something new":             {"dev=a/S prod=b/O dev=a/S! dev=b/O%1", true},
		"answered, and synced since":              {"dev=a/S prod=b/O dev=a/S! dev=b/O%1 dev=b/S%1", true},
		"asked and not answered":                  {"dev=a/S prod=b/O dev=a/S!", false},
		"asked, and taken away":                   {"dev=a/S prod=b/O dev=a/S! dev=a/S", false},
		"taken away, and compared by itself":      {"dev=a/S prod=b/O dev=a/S! dev=a/S dev=a/S%1", false},
		"compared by itself, and then taken away": {"dev=a/S prod=b/O dev=a/S! dev=a/S%1! dev=a/S%1", false},
		"taken away by who writes an older one":   {"dev=a/S%1 prod=b/O dev=a/S%1! dev=a/S", false},
		"taken away, asked again and answered":    {"dev=a/S prod=b/O dev=a/S! dev=a/S dev=a/S! dev=a/S%1", true},
		"asked before":                            {"dev=a/S! prod=b/O dev=a/S%1", false},
		"asked before, and asked again meanwhile": {"dev=a/S! prod=b/O dev=a/S! dev=a/S%1", false},
		"asked before, answered and asked again":  {"dev=a/S! prod=b/O dev=a/S%1 dev=a/S%1! dev=a/S%2", true},
		"asked before, taken away while it is compared, and asked again": {
			"dev=a/S! prod=b/O dev=a/S dev=a/S! dev=a/S%1", false,
		},
		"answered by a failure":              {"dev=a/S prod=b/O dev=a/S! dev=/U%1", false},
		"compared with something else since": {"dev=a/S prod=b/O dev=a/S! dev=b/O%1 dev=a/S%2", false},
		"of another ApplicationSet by now":   {"dev=a/S prod=b/O dev=a/S! dev=a/S%1 dev=gone", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(pastOf(watching(row.events), "dev", 2, 0).Freshness > policy.Unknown).To(Equal(row.want))
			other := watching(row.events).History(&policy.ApplicationSet{UID: "other"}, 0, 0)
			NewWithT(t).Expect(other.Past("dev")).To(BeZero())
		})
	}
}

// TestLater asks whether dev is known to be compared since prod was, at second 1.
func TestLater(t *testing.T) {
	for name, row := range map[string]struct {
		events string
		want   bool
	}{
		"asked and answered":                       {"prod=b/O%1 dev=c/O! dev=c/O%1", true},
		"asked before":                             {"dev=c/O! prod=b/O%1 dev=c/O%1", false},
		"prod was asked since, and answered":       {"prod=b/O%1 dev=c/O! dev=c/O%1 prod=b/O%1! prod=b/O%2", false},
		"prod was asked, and has not answered":     {"prod=b/O%1 dev=c/O! dev=c/O%1 prod=b/O%1!", true},
		"prod has found another revision":          {"prod=a/O%1 dev=c/O! dev=c/O%1 prod=b/O%1", false},
		"prod was compared, without a request":     {"prod=b/O%0 dev=c/O! dev=c/O%1 prod=b/O%1", false},
		"the watch has not seen that":              {"prod=b/O%0 dev=c/O! dev=c/O%1", false},
		"the watch has not seen prod":              {"dev=c/O! dev=c/O%1", false},
		"prod was synced since, and not looked at": {"prod=b/O%1 dev=c/O! dev=c/O%1 prod=b/S%1", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := watching(row.events)
			NewWithT(t).Expect(pastOf(s, "dev", 0,
				s.ComparedAt("prod", time.Unix(1, 0))).Freshness == policy.Newest).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(watching("dev=a/S").ComparedAt("prod", time.Time{})).To(BeZero(), "never compared")
}

// TestApplied has an operation whose first attempt applies everything, and whose second one does not.
func TestApplied(t *testing.T) {
	g := NewWithT(t)
	s := NewHistories(clock.RealClock{})
	attempt := func(started int64, applied bool) {
		s.Observe(&argocd.Projection{
			ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "dev"}, Owner: "set",
			Application: policy.Application{LastFull: policy.FullSync{StartedAt: time.Unix(started, 0), Applied: applied}},
		})
	}
	attempt(1, false)
	g.Expect(pastOf(s, "dev", 0, 0).Applied).To(BeZero())
	attempt(1, true)
	attempt(1, false)
	g.Expect(pastOf(s, "dev", 0, 0).Applied).To(Equal(time.Unix(1, 0)))
	attempt(2, false)
	g.Expect(pastOf(s, "dev", 0, 0).Applied).To(Equal(time.Unix(1, 0)), "of the operation before")
}

// fingerprintOf stands for a comparison with a revision.
func fingerprintOf(revision string) (f argocd.Fingerprint) {
	for _, b := range []byte(revision) {
		f = f*256 + argocd.Fingerprint(b)
	}
	return f
}

// TestCompleted asks what dev was seen to be done with.
func TestCompleted(t *testing.T) {
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	done := func(revision string, finished, compared int) policy.Application {
		return policy.Application{
			Compared: at("repo", revision), SyncStatus: "Synced", Health: "Healthy", SpecCompared: true, ReconciledAt: second(compared),
			LastFull: policy.FullSync{Phase: "Succeeded"},
			LastSync: policy.LastSync{FinishedAt: second(finished), AtCompared: true, SameSources: true},
		}
	}
	edited := func(app policy.Application, edit func(*policy.Application)) policy.Application {
		edit(&app)
		return app
	}
	progressing := func(a *policy.Application) { a.Health = "Progressing" }
	for name, row := range map[string]struct {
		events []policy.Application
		want   []string
	}{
		"compared after its sync":              {[]policy.Application{done("a", 1, 2)}, []string{"a"}},
		"two, one after the other":             {[]policy.Application{done("a", 1, 2), done("b", 3, 4), done("b", 3, 5)}, []string{"a", "b"}},
		"compared in the second of its sync":   {[]policy.Application{done("a", 1, 1)}, nil},
		"Progressing first, and then Healthy":  {[]policy.Application{edited(done("a", 1, 1), progressing), done("a", 1, 1)}, []string{"a"}},
		"Progressing after the sync before":    {[]policy.Application{edited(done("a", 1, 1), progressing), done("b", 2, 2)}, nil},
		"never Healthy":                        {[]policy.Application{edited(done("a", 1, 2), progressing)}, nil},
		"other sources since":                  {[]policy.Application{done("a", 1, 2), edited(done("a", 1, 3), func(a *policy.Application) { a.LastSync.SameSources = false })}, nil},
		"its spec is not compared since":       {[]policy.Application{done("a", 1, 2), edited(done("a", 1, 2), func(a *policy.Application) { a.SpecCompared = false })}, nil},
		"its sync failed":                      {[]policy.Application{edited(done("a", 1, 2), func(a *policy.Application) { a.LastFull.Phase = "Failed" })}, nil},
		"another revision is compared by then": {[]policy.Application{edited(done("b", 1, 2), func(a *policy.Application) { a.LastSync.AtCompared = false })}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewHistories(clock.RealClock{})
			for _, app := range row.events {
				s.Observe(&argocd.Projection{
					ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "dev"}, Owner: "set", Application: app,
				})
			}
			var got []string
			for _, c := range pastOf(s, "dev", 0, 0).Completions {
				got = append(got, c.Sources[0].Revision)
			}
			NewWithT(t).Expect(got).To(Equal(row.want))
		})
	}
}

// TestObservationsAreBounded forgets everything of Applications that are gone, and follows a change of owner.
func TestObservationsAreBounded(t *testing.T) {
	g := NewWithT(t)
	s := watching("dev=a/S qa=a/S")
	moved := &argocd.Projection{ObjectMeta: metav1.ObjectMeta{Name: "qa", UID: "qa"}, Owner: "other"}
	s.Observe(moved)
	g.Expect(s.families).To(HaveLen(2))
	s.Forget(moved)
	g.Expect(s.families).To(HaveLen(1))
	s.Forget(&argocd.Projection{ObjectMeta: metav1.ObjectMeta{UID: "dev"}})
	g.Expect(s.families).To(BeEmpty())
	g.Expect(s.apps).To(BeEmpty())
}
