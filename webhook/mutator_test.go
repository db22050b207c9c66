package webhook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// watched is what the watches know of a cluster: everything, as it is.
type watchedCluster struct{ *cluster }

func (w watchedCluster) Set(name types.NamespacedName) (*argocd.ApplicationSet, siblings.Version) {
	for _, set := range w.sets {
		if set.Namespace == name.Namespace && set.Name == name.Name {
			return argocd.NewApplicationSet(set), siblings.Version{}
		}
	}
	return nil, siblings.Version{}
}

func (w watchedCluster) Owned(owner types.UID) []*argocd.Projection {
	var all []*argocd.Projection
	for _, app := range w.apps {
		if p := argocd.NewProjection(app); p.Owner == owner {
			all = append(all, p)
		}
	}
	return all
}

// mutated is the answer of a Mutator to an attempt, and the Application after it.
func mutated(t *testing.T, config settings.Config, c *cluster, a *attempt) (*trial, webhook.AdmissionResponse, *argo.Application) {
	t.Helper()
	trial := newTrial(config, c)
	resp, app := mutatedBy(t, trial, c, a)
	return trial, resp, app
}

func mutatedBy(t *testing.T, trial *trial, c *cluster, a *attempt) (webhook.AdmissionResponse, *argo.Application) {
	t.Helper()
	g := NewWithT(t)
	resp := NewMutator(trial.gate, watchedCluster{c}).Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: a.request()})
	g.Expect(resp.Allowed).To(BeTrue(), "it admits everything")
	if a.after == nil {
		return resp, nil
	}
	text, err := json.Marshal(resp.Patches)
	g.Expect(err).NotTo(HaveOccurred())
	patch, err := jsonpatch.DecodePatch(text)
	g.Expect(err).NotTo(HaveOccurred())
	raw, err := patch.Apply(rawOf(a.after))
	g.Expect(err).NotTo(HaveOccurred())
	app := &argo.Application{}
	g.Expect(json.Unmarshal(raw, app)).To(Succeed())
	return resp, app
}

func pinning() settings.Config {
	config := testConfig()
	config.Pin, config.Hold = settings.PinCompared, true
	return config
}

// TestMutator wants of each write whether it is pinned, held or left as it is.
func TestMutator(t *testing.T) {
	const open = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
	notDone := func(c *cluster) { c.apps[0].Status.Health.Status = "Degraded" }
	synced := func(c *cluster) {
		c.sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "prod", Step: "3", Status: "Progressing"}}
		c.apps[2].Status.OperationState = &argo.OperationState{Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.NewTime(noon)}
	}
	deployed := func(c *cluster) {
		c.apps[2].Status.History = argo.RevisionHistories{{Revision: commit("b"), Source: *c.apps[2].Spec.Source}}
	}
	spec := func(a *attempt) { a.after.Spec.Source.Path = "elsewhere" }
	for name, tc := range map[string]struct {
		config  func(*settings.Config)
		cluster func(*cluster)
		write   func(*attempt)
		want    string // "pinned", "held" or ""
	}{
		"the ApplicationSet controller": {want: "pinned"},
		"argocd-server":                 {write: func(a *attempt) { a.user, a.after.Operation.InitiatedBy.Automated = argocdServer, false }, want: "pinned"},
		"kubectl":                       {write: func(a *attempt) { a.user = "kubernetes-admin" }, want: "pinned"},
		"it names its revision":         {write: func(a *attempt) { a.after.Operation.Sync.Revision = commit("b") }, want: "pinned"},
		"it names revision and source": {write: func(a *attempt) {
			a.after.Operation.Sync.Revision, a.after.Operation.Sync.Source = commit("b"), a.after.Spec.Source
		}},
		"it names the deployed revision": {cluster: deployed, write: func(a *attempt) {
			a.user, a.after.Operation.InitiatedBy.Automated, a.after.Operation.Sync.Revision = argocdServer, false, commit("b")
		}, want: "pinned"},
		"it names a branch":          {write: func(a *attempt) { a.after.Operation.Sync.Revision = "main" }, want: "held"},
		"a dry run":                  {write: func(a *attempt) { a.after.Operation.Sync.DryRun = true }},
		"no operation":               {write: func(a *attempt) { a.after.Operation = nil }},
		"a deletion":                 {write: func(a *attempt) { a.after = nil }},
		"the first step":             {cluster: func(c *cluster) { c.apps[2].Labels["step"] = "1" }},
		"no step":                    {cluster: func(c *cluster) { c.apps[2].Labels["step"] = "9" }},
		"pinning is off":             {config: func(c *settings.Config) { c.Pin = settings.PinOff }},
		"audit mode":                 {config: func(c *settings.Config) { c.Mode = settings.Audit }},
		"audit mode by annotation":   {cluster: func(c *cluster) { c.sets[0].Annotations = map[string]string{settings.ModeAnnotation: "audit"} }},
		"switched off by annotation": {cluster: func(c *cluster) { c.sets[0].Annotations = map[string]string{settings.ModeAnnotation: "off"} }},
		"a bypass": {cluster: func(c *cluster) {
			c.sets[0].Annotations = map[string]string{settings.BypassUntilAnnotation: noon.Add(time.Hour).Format(time.RFC3339), settings.BypassReasonAnnotation: "INC-1"}
		}},
		"the ApplicationSet is not known":   {cluster: func(c *cluster) { c.sets = nil }},
		"the ApplicationSet is another one": {cluster: func(c *cluster) { c.sets[0].UID = "other" }},
		"two owners, of which one is not known": {
			write: func(a *attempt) { a.after.OwnerReferences = []metav1.OwnerReference{ownedBy("other")} }, want: "pinned",
		},
		"two owners": {
			cluster: func(c *cluster) { c.sets = append(c.sets, rollingSync("other", "1", "2", "3")) },
			write:   func(a *attempt) { a.after.OwnerReferences = []metav1.OwnerReference{ownedBy("other")} },
		},
		"adopted from an ApplicationSet of the same name that is gone": {write: func(a *attempt) {
			a.before = a.before.DeepCopy()
			a.before.OwnerReferences[0].UID = "gone"
		}, want: "pinned"},
		"spec and operation in one patch": {write: spec, want: "held"},
		"spec and operation, of another namespace": {write: func(a *attempt) {
			spec(a)
			a.user = "system:serviceaccount:gitops:openshift-gitops-applicationset-controller"
		}, want: "held"},
		"spec and operation, by somebody else":    {write: func(a *attempt) { spec(a); a.user = argocdServer }},
		"created with an operation":               {write: func(a *attempt) { a.before = nil }, want: "held"},
		"the operation alone, not compared":       {cluster: func(c *cluster) { c.apps[2].Status.Sync = argo.SyncStatus{} }, want: "held"},
		"the operation and a label, not compared": {cluster: func(c *cluster) { c.apps[2].Status.Sync = argo.SyncStatus{} }, write: func(a *attempt) { a.after.Labels["new"] = "x" }, want: "held"},
		"the comparison failed":                   {cluster: func(c *cluster) { c.apps[2].Status.Sync.Status = "Unknown" }, want: "held"},
		"a sibling is not done":                   {cluster: notDone, want: "held"},
		"spec and operation, holding is off":      {config: func(c *settings.Config) { c.Hold = false }, write: spec, want: "held"},
		"a sibling is not done, holding is off":   {cluster: notDone, config: func(c *settings.Config) { c.Hold = false }, want: "pinned"},
		"a sibling is not done, pinning is off":   {cluster: notDone, config: func(c *settings.Config) { c.Pin = settings.PinOff }, want: "held"},
		"a sibling is not done, audit mode":       {cluster: notDone, config: func(c *settings.Config) { c.Mode = settings.Audit }},
		"a sibling is not done, argocd-server":    {cluster: notDone, write: func(a *attempt) { a.user, a.after.Operation.InitiatedBy.Automated = argocdServer, false }, want: "pinned"},
		"a sibling is not done, auto-sync":        {cluster: notDone, write: func(a *attempt) { a.user = controllerUser }, want: "pinned"},
		"a repetition":                            {cluster: synced, want: "held"},
		"a repetition in the first step":          {cluster: func(c *cluster) { synced(c); c.apps[2].Labels["step"] = "1" }, want: "held"},
		"a repetition by auto-sync":               {cluster: synced, write: func(a *attempt) { a.user = controllerUser }, want: "pinned"},
		"no live read":                            {cluster: func(c *cluster) { notDone(c); c.failAt = 1 }, want: "pinned"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config, c := pinning(), clusterOf(open)
			if tc.config != nil {
				tc.config(&config)
			}
			if tc.cluster != nil {
				tc.cluster(c)
			}
			write := syncOf(c, "prod")
			if tc.write != nil {
				tc.write(write)
			}
			trial, resp, app := mutated(t, config, c, write)
			g.Expect(len(resp.Patches) > 0).To(Equal(tc.want != ""))
			g.Expect(len(trial.samples("stepgate_operations_changed_total")) > 0).To(Equal(tc.want != ""), "counted")
			switch tc.want {
			case "pinned":
				g.Expect(app.Operation.Sync.Revision).To(Equal(commit("b")))
				g.Expect(app.Operation.Sync.Source).To(Equal(app.Spec.Source))
				g.Expect(resp.AuditAnnotations).To(Equal(map[string]string{"pinned": commit("b")}))
			case "held":
				g.Expect(app.Operation).To(BeNil())
				g.Expect(app.Spec).To(Equal(write.after.Spec), "the rest goes in")
				g.Expect(resp.AuditAnnotations).To(HaveKeyWithValue("decision", "hold"))
			default:
				g.Expect(resp.AuditAnnotations).To(BeEmpty())
			}
		})
	}
}

// TestAHeldOperationLeavesTheOldOne has an operation that waits already.
func TestAHeldOperationLeavesTheOldOne(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy 3:prod=Healthy")
	write := syncOf(c, "prod")
	write.before = write.before.DeepCopy()
	write.before.Operation = &argo.Operation{Sync: &argo.SyncOperation{Revision: commit("a")}}
	write.after.Spec.Source.Path = "elsewhere"
	_, _, app := mutated(t, pinning(), c, write)
	g.Expect(app.Operation).To(Equal(write.before.Operation))
}

// TestTheTrainPinsWhatIsProven has earlier steps on their way to e, while prod was compared with e, too.
func TestTheTrainPinsWhatIsProven(t *testing.T) {
	for name, tc := range map[string]struct {
		dev, qa, prod string // histories; a capital is a revision that a user has tried: no comparison finds it. After d, nobody was seen to be Healthy
		want          string
	}{
		"the newest that both have run":                        {"abcd", "abc", "a", "c"},
		"all have run the compared one":                        {"abcde", "abcde", "a", "e"},
		"nothing is proven: the compared one":                  {"ab", "a", "a", "e"},
		"never older than what it runs":                        {"abc", "abc", "abcd", "e"},
		"it has run nothing yet":                               {"abc", "ab", "", "b"},
		"one has not run what it runs":                         {"bc", "abc", "a", "e"},
		"all have run d, and were not seen to be done with it": {"abcd", "abcd", "a", "c"},
		"a user has tried the newest":                          {"abC", "abc", "a", "b"},
		"proven, out of order in one of them":                  {"acb", "abc", "a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterOf("1:dev=Healthy@e 2:qa=Healthy@e 3:prod=Healthy@e")
			completed := map[string][]policy.Source{}
			for i, history := range []string{tc.dev, tc.qa, tc.prod} {
				app := c.apps[i]
				source := *c.apps[2].Spec.Source // one repository and branch
				source.Path = app.Name
				for _, r := range history {
					app.Status.History = append(app.Status.History, argo.RevisionHistory{
						Revision: commit(strings.ToLower(string(r))), Source: source, InitiatedBy: argo.OperationInitiator{Automated: unicode.IsLower(r)},
					})
				}
				completed[app.Name] = slices.DeleteFunc(argocd.Sibling(app).Ran, func(s policy.Source) bool {
					return s.Revision == commit("d") || strings.Contains(history, strings.ToUpper(s.Revision[:1]))
				})
			}
			config := pinning()
			config.Pin = settings.PinProven
			trial := newTrial(config, c)
			trial.judge.Watch = &seenByWatch{completed: completed}
			resp, app := mutatedBy(t, trial, c, syncOf(c, "prod"))
			NewWithT(t).Expect(app.Operation.Sync.Revision).To(Equal(commit(tc.want)))
			NewWithT(t).Expect(resp.Patches).NotTo(BeEmpty())
		})
	}
}

// TestADryRunIsPinnedWithoutATrace gets the same answer, and is not counted.
func TestADryRunIsPinnedWithoutATrace(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy 3:prod=Healthy")
	write := syncOf(c, "prod")
	write.dryRun = true
	trial, resp, _ := mutated(t, pinning(), c, write)
	g.Expect(resp.Patches).NotTo(BeEmpty())
	g.Expect(len(trial.samples("stepgate_operations_changed_total"))).To(BeZero())
}

// TestTheSelfTestIsAnswered shows stepgate selftest that the API server calls the mutating webhook.
func TestTheSelfTestIsAnswered(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy 3:prod=Healthy")
	write := syncOf(c, "prod")
	write.after.Operation.Info = []*argo.Info{{Name: SelfTestInfo, Value: "mutate"}}
	_, resp, _ := mutated(t, pinning(), c, write)
	g.Expect(resp.Warnings).To(Equal([]string{SelfTestWarning}))
}

// TestAnUnreadableWriteIsLeftToTheGate: the mutating webhook has no say in it.
func TestAnUnreadableWriteIsLeftToTheGate(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy 3:prod=Healthy")
	req := syncOf(c, "prod").request()
	req.Object.Raw = []byte("[]")
	trial := newTrial(pinning(), untouchable{t})
	resp := NewMutator(trial.gate, watchedCluster{c}).Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
	g.Expect(resp.Allowed).To(BeTrue())
	g.Expect(resp.Patches).To(BeEmpty())
}

// TestAPinnedOperationIsAllowed plays both webhooks one after the other.
func TestAPinnedOperationIsAllowed(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy 3:prod=Healthy")
	write := syncOf(c, "prod")
	trial := newTrial(pinning(), c)
	g.Expect(trial.handle(write.request()).AuditAnnotations).To(HaveKeyWithValue("reason", "NotPinned"))
	_, _, write.after = mutated(t, pinning(), c, write)
	g.Expect(trial.handle(write.request()).AuditAnnotations).To(HaveKeyWithValue("reason", "EarlierStepsDone"))
}
