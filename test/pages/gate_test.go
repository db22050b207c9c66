// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// createGuestbook creates a rollout in Argo CD's namespace, after one that is on record: prod has to wait for dev, which
// is Progressing.
func createGuestbook(t *testing.T) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, cluster.ArgoNamespace)).To(Succeed())
	_, err := guestbook.Create(ctx, shared.Admin, cluster.ArgoNamespace, guestbook.Lately,
		func(made *guestbook.Rollout, _ string, app *argo.Application) {
			app.Operation = guestbook.RollingSync()
			guestbook.Start(app, made.Tick())
			guestbook.Finish(app, made.Tick(), guestbook.OldCommit)
			guestbook.Compare(app, made.Tick(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync,
				health.HealthStatusProgressing)
		})
	g.Expect(err).NotTo(HaveOccurred())
}

// needApproval has step 3 of the rollout need an approval.
func needApproval(t *testing.T, m *machine) {
	t.Helper()
	m.run(t, "kubectl annotate applicationset -n argocd guestbook --overwrite stepgate.io/approve=3")
}

// createWaves creates the parent that docs/waves.md shows, and a child of wave 20.
func createWaves(t *testing.T, _ *machine) {
	t.Helper()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(shared.Root, "docs", "waves.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, shown := strings.Cut(rest, "```")
	g.Expect(shown).To(BeTrue())
	parent := &argo.Application{}
	g.Expect(yaml.UnmarshalStrict([]byte(text), parent)).To(Succeed())
	child := guestbook.Application(guestbook.Set(parent.Namespace), "dev")
	child.Name, child.Labels, child.OwnerReferences = "ingress", nil, nil
	child.Annotations = map[string]string{
		common.AnnotationKeyAppInstance: parent.Name + ":argoproj.io/Application:" + parent.Namespace + "/" + child.Name,
		synccommon.AnnotationSyncWave:   "20",
	}
	for _, app := range []*argo.Application{parent, child} {
		g.Expect(shared.Admin.Create(t.Context(), app)).To(Succeed())
		t.Cleanup(func() { g.Expect(shared.Admin.Delete(context.Background(), app)).To(Succeed()) })
	}
}

// warnings are the texts of the API server's warnings.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader is rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// writeSync writes an operation on prod, and returns the warnings. An automated one that is early is held.
func writeSync(ctx context.Context, user string, automated bool, options ...client.PatchOption) (string, error) {
	heard := &warnings{}
	writer, err := shared.ClientWithWarnings(user, heard)
	if err != nil {
		return "", err
	}
	prod := guestbook.Application(guestbook.Set(cluster.ArgoNamespace), "prod")
	err = writer.Patch(ctx, prod, client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"operation":{"sync":{},"initiatedBy":{"automated":%t}}}`, automated)), options...)
	heard.mu.Lock()
	defer heard.mu.Unlock()
	return strings.Join(heard.texts, "\n"), err
}

// Answers of the gate to a sync that is too early.
const (
	off    = "lets it pass"
	warns  = "warns"
	denies = "denies it"
)

// expectGate waits until the gate answers so to a sync of prod, which is too early.
func expectGate(t *testing.T, does string) {
	t.Helper()
	NewWithT(t).Eventually(func() (string, error) {
		const early = "step 3 of ApplicationSet argocd/guestbook"
		warning, err := writeSync(t.Context(), cluster.ControllerAccount, false, client.DryRunAll)
		switch {
		case err != nil && strings.Contains(err.Error(), early):
			return denies, nil
		case strings.Contains(warning, early):
			return warns, err
		}
		return off, err
	}).Should(Equal(does), "the gate")
}

// startSync lets an account start a sync of prod, which is too early, and end it.
func startSync(t *testing.T, user string) {
	t.Helper()
	g := NewWithT(t)
	expectGate(t, warns)
	_, err := writeSync(t.Context(), user, true)
	g.Expect(err).NotTo(HaveOccurred())
	prod := guestbook.Application(guestbook.Set(cluster.ArgoNamespace), "prod")
	g.Expect(shared.Admin.Patch(t.Context(), prod,
		client.RawPatch(types.MergePatchType, []byte(`{"operation":null}`)))).To(Succeed())
}

// rollOut lets Argo CD start a sync that is too early, and waits for the Event.
func rollOut(t *testing.T, _ *machine) {
	t.Helper()
	startSync(t, cluster.ControllerAccount)
	NewWithT(t).Eventually(func(g Gomega) {
		var events corev1.EventList
		g.Expect(shared.Admin.List(t.Context(), &events, client.InNamespace(cluster.ArgoNamespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(HaveField("Reason", "SyncWouldBeDenied")))
	}).Should(Succeed())
}

// writeUnlisted lets an account start an automated sync that stepgate does not know as Argo CD's.
func writeUnlisted(t *testing.T, m *machine) {
	t.Helper()
	startSync(t, cluster.Human)
	NewWithT(t).Eventually(m.node.log).Should(ContainSubstring("not listed"))
}
