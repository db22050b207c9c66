// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// faces are a rollout with all that tells people about it: step 3 needs an approval, and nothing else.
type faces struct {
	*people
	address string
}

const uiToken, uiActToken = "the secret to look", "the secret to act"

func newFaces(t *testing.T) *faces {
	t.Helper()
	g, dir := NewWithT(t), t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	f := &faces{address: free.Addr().String()}
	g.Expect(free.Close()).To(Succeed())
	read, act := filepath.Join(dir, "read"), filepath.Join(dir, "act")
	g.Expect(os.WriteFile(read, []byte(uiToken), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(act, []byte(uiActToken), 0o600)).To(Succeed())
	f.people = newPeopleWith(t, lookers, installed.Options{UI: true, Acts: true}, "--ui-bind-address="+f.address,
		"--ui-token-file="+read, "--ui-act-token-file="+act)
	f.deployment("--spec-settling=0") // for the command line; what the Service stands for is another
	f.annotate(map[string]string{settings.ApproveAnnotation: "3"})
	f.done("dev")
	f.done("qa")
	return f
}

// asked sends a request as argocd-server does, for who looks at prod, and reads the answer.
func (f *faces) asked(g Gomega, method, path, token string, body, into any) {
	text, err := json.Marshal(body)
	g.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(f.ctx, method, "http://"+f.address+path, bytes.NewReader(text))
	g.Expect(err).NotTo(HaveOccurred())
	for name, value := range map[string]string{
		extension.TokenHeader: token, extension.UserHeader: "carol", extension.ProjectHeader: "default",
		extension.ApplicationHeader: f.namespace + ":engineering-prod-guestbook", "Content-Type": "application/json",
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.StatusCode).To(Equal(http.StatusOK), string(answer))
	g.Expect(json.Unmarshal(answer, into)).To(Succeed(), string(answer))
}

// inUI is the rollout in Argo CD's UI.
func (f *faces) inUI(g Gomega) (d dashboard.Detail) {
	f.asked(g, http.MethodGet, "/api/v1/rollout", uiToken, nil, &d)
	return d
}

// pausesInUI tries to pause in Argo CD's UI, as a dry run.
func (f *faces) pausesInUI() (answer dashboard.Answer) {
	f.asked(f, http.MethodPost, "/api/v1/actions", uiActToken, dashboard.Action{
		Verb: dashboard.Pause, Namespace: f.namespace, Name: "guestbook", DryRun: true,
	}, &answer)
	return answer
}

// validating changes the webhook that judges syncs.
func (f *faces) validating(change func(*admissionv1.ValidatingWebhook)) {
	c := &admissionv1.ValidatingWebhookConfiguration{}
	f.Expect(shared.Admin.Get(f.ctx, client.ObjectKey{Name: f.replica.Name}, c)).To(Succeed())
	change(&c.Webhooks[0])
	f.Expect(shared.Admin.Update(f.ctx, c)).To(Succeed())
}

// undeploy has the API server call a Service that nobody serves, and no Deployment is behind. back undoes it.
func (f *faces) undeploy(policy admissionv1.FailurePolicyType) (back func()) {
	var before admissionv1.ValidatingWebhook
	f.validating(func(w *admissionv1.ValidatingWebhook) {
		before = *w.DeepCopy()
		w.FailurePolicy, w.ClientConfig = &policy, admissionv1.WebhookClientConfig{
			Service: &admissionv1.ServiceReference{
				Namespace: f.replica.Name, Name: f.replica.Name, Path: ptr.To("/validate"),
			},
		}
	})
	return func() { f.validating(func(w *admissionv1.ValidatingWebhook) { *w = before }) }
}

// ignore labels the namespace. back undoes it.
func (f *faces) ignore() (back func()) {
	label := func(change func(map[string]string)) {
		namespace := &corev1.Namespace{}
		f.Expect(shared.Admin.Get(f.ctx, client.ObjectKey{Name: f.namespace}, namespace)).To(Succeed())
		before := namespace.DeepCopy()
		change(namespace.Labels)
		f.Expect(shared.Admin.Patch(f.ctx, namespace, client.MergeFrom(before))).To(Succeed())
	}
	label(func(l map[string]string) { l[record.IgnoreLabel] = record.IgnoreValue })
	return func() { label(func(l map[string]string) { delete(l, record.IgnoreLabel) }) }
}

// unregister deletes what the API server calls. back undoes it.
func (f *faces) unregister() (back func()) {
	all, err := installed.Configurations(f.ctx, shared, f.replica.Name)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(installed.Unregister(f.ctx, shared, f.replica.Name)).To(Succeed())
	return func() {
		for _, c := range all {
			f.Expect(c.Create(f.ctx, shared)).To(Succeed())
		}
	}
}

// audit has the ApplicationSet in audit mode. back undoes it.
func (f *faces) audit() (back func()) {
	f.annotate(map[string]string{settings.ModeAnnotation: "audit"})
	return func() { f.annotate(map[string]string{settings.ModeAnnotation: "enforce"}) }
}

// starts tries an early sync.
func (f *faces) starts() error { return f.sync(cluster.Human, "prod", client.DryRunAll) }

// TestEveryFaceSaysThatNothingIsHeld where no gate answers, and in audit mode: the command line, the dashboard, Argo CD's
// UI and messages. Then the gate is back, and each says that again. Nobody is told twice because it was gone.
func TestEveryFaceSaysThatNothingIsHeld(t *testing.T) {
	t.Parallel()
	f := newFaces(t)
	f.SetDefaultEventuallyTimeout(time.Minute)
	none := "nothing is held or denied: "
	var told []string
	for _, tc := range []struct {
		name, person string
		happens      func() (back func())
		want         string
		// keeps says that a pause is kept as far as anybody can say: it holds when the mode is enforce again.
		keeps bool
	}{
		{name: "this namespace is ignored", person: "erin", happens: f.ignore, want: none + "namespace " + f.namespace + " has the label stepgate.io/ignore=true"},
		{name: "unregistered", person: "frank", happens: f.unregister, want: none + "the API server "},
		{name: "the Deployment is gone", person: "grace", happens: func() func() { return f.undeploy(admissionv1.Ignore) },
			want: none + "there is no Deployment of stepgate in namespace " + f.replica.Name + ", and the failure policy is Ignore"},
		{name: "audit", person: "heidi", happens: f.audit, want: "mode audit: nothing is held or denied", keeps: true},
	} {
		f.Eventually(f.starts).ShouldNot(Succeed(), "%s: the gate holds prod before", tc.name)
		f.Eventually(func(g Gomega) { g.Expect(f.inUI(g).Rollout.Exempt).To(BeEmpty()) }).Should(Succeed(), tc.name)
		f.Expect(f.pausesInUI().OK).To(BeTrue(), tc.name)
		back := tc.happens()
		f.Eventually(f.starts).Should(Succeed(), "%s: nothing holds prod", tc.name)

		shown := f.ask("get", "guestbook")
		f.Expect(squeezed(shown.out)).To(And(ContainSubstring(tc.want), ContainSubstring("would wait: NotApproved")), tc.name)
		f.Expect(f.ask("pause", "guestbook", "--dry-run").code == 0).To(Equal(tc.keeps), tc.name)
		f.Eventually(func(g Gomega) {
			g.Expect(f.dashboard().detail().Rollout.Exempt).To(ConsistOf(ContainSubstring(tc.want)))
		}).Should(Succeed(), tc.name)
		f.Eventually(func(g Gomega) {
			d := f.inUI(g)
			g.Expect(d.Rollout.Exempt).To(ConsistOf(ContainSubstring(tc.want)))
			g.Expect(d.Said["engineering-prod-guestbook"].Text).To(HavePrefix("would wait: "))
		}).Should(Succeed(), tc.name)
		f.Expect(f.pausesInUI().OK).To(Equal(tc.keeps), tc.name)

		f.subscribe(tc.person)
		f.annotate(map[string]string{"notifications.argoproj.io/subscribe.stepgate-on-open." + tc.person: ""})
		told = append(told, tc.person+": nothing is held")
		f.Eventually(f.told).Should(ConsistOf(told), tc.name)
		back()
		f.Eventually(f.starts).ShouldNot(Succeed(), "%s: the gate is back", tc.name)
		told = append(told, tc.person+": step 3: stepgate approve guestbook -n "+f.namespace+" --step 3")
		f.Eventually(f.told).Should(ConsistOf(told), tc.name)
	}
}

// TestEveryFaceSaysThatAllIsRefused where no replica is there and the gate fails closed.
func TestEveryFaceSaysThatAllIsRefused(t *testing.T) {
	t.Parallel()
	f := newFaces(t)
	f.SetDefaultEventuallyTimeout(time.Minute)
	f.undeploy(admissionv1.Fail)
	f.Eventually(f.starts).Should(MatchError(ContainSubstring("failed calling webhook")))
	want := "every sync is refused: there is no Deployment of stepgate in namespace " + f.replica.Name
	shown := f.ask("get", "guestbook")
	f.Expect(squeezed(shown.out)).To(And(ContainSubstring(want), ContainSubstring("waits: NotApproved")))
	f.Expect(f.dashboard().detail().Rollout.Problems).To(ContainElement(ContainSubstring(want)))
	f.Eventually(func(g Gomega) {
		g.Expect(f.inUI(g).Rollout.Problems).To(ContainElement(ContainSubstring(want)))
	}).Should(Succeed())
}

// TestWhoMayNotReadSaysNothingNew: the reporter has lost its rights, and the gate is gone. Nobody is told that there is none.
func TestWhoMayNotReadSaysNothingNew(t *testing.T) {
	t.Parallel()
	f := newFaces(t)
	f.SetDefaultEventuallyTimeout(time.Minute)
	f.Eventually(func(g Gomega) { g.Expect(f.inUI(g).Rollout.Exempt).To(BeEmpty()) }).Should(Succeed())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.replica.Name + "-reporter-gate"}}
	f.Expect(shared.Admin.Delete(f.ctx, role)).To(Succeed())
	f.Eventually(f.reporter.Log).Should(ContainSubstring("whether the gate answers"))
	f.ignore()
	f.Eventually(f.starts).Should(Succeed())
	f.Consistently(func() []string { return f.inUI(f).Rollout.Exempt }, "15s", "1s").Should(BeEmpty())
}

// squeezed is a text on one line.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }
