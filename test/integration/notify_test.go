// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/settings"
)

// people are a server that some webhook services of Argo CD's notifications send to.
type people struct {
	*rollout
	// names are those who subscribe in this test: reporters look at the rollouts of other tests, too.
	names    []string
	server   *httptest.Server
	reporter *installed.Replica

	mu  sync.Mutex
	got []string
}

// told are the messages to those who subscribe in this test, as SERVICE: TEXT, sorted.
func (p *people) told() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(p.got), func(message string) bool {
		name, _, _ := strings.Cut(message, ": ")
		return !slices.Contains(p.names, name)
	})
	slices.Sort(all)
	return all
}

const peoplesToken = "s3cret-of-the-people"

// lookers are those who subscribe in TestEveryFaceSaysThatNothingIsHeld.
var lookers = []string{"erin", "frank", "grace", "heidi"}

// newPeople configures Argo CD's notifications: the services alice, bob, carol and dan, and the lookers. The first ones are
// those who subscribe.
func newPeople(t *testing.T) *people {
	t.Helper()
	return newPeopleWith(t, subscribers, installed.Options{})
}

// subscribers are those who subscribe in the other tests.
var subscribers = []string{"alice", "bob", "carol", "dan"}

// telling has one test at a time tell people: they share the ConfigMap and the Secret of Argo CD's notifications.
var telling sync.Mutex

// newPeopleWith is newPeople with others who subscribe, more that is installed, and more flags of the reporter.
func newPeopleWith(t *testing.T, names []string, o installed.Options, args ...string) *people {
	t.Helper()
	o.Notifies = true
	telling.Lock()
	t.Cleanup(telling.Unlock)
	p, g := &people{names: names}, NewWithT(t)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+peoplesToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.got = append(p.got, strings.TrimPrefix(r.URL.Path, "/")+": "+string(body))
	}))
	t.Cleanup(p.server.Close)
	g.Expect(shared.CreateNamespace(t.Context(), cluster.ArgoNamespace)).To(Succeed())
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: notify.ConfigMapName},
		Data: map[string]string{
			"template.stepgate-approval-needed":   "message: 'step {{.rollout.approval.step}}: {{.rollout.approval.command}}'",
			"trigger.stepgate-on-open":            "- when: not rollout.enforced\n  oncePer: appset.name\n  send: [stepgate-open]",
			"template.stepgate-open":              "message: nothing is held",
			"template.stepgate-rollout-complete":  "message: '{{.appset.name}} is complete at {{.rollout.revision}}'",
			"trigger.on-something-of-argo-cd":     "- when: app.status.health.status == 'Degraded'\n  send: [x]",
			"template.argo-cd-s-that-is-not-ours": "message: '{{.app.metadata.name'",
		},
	}
	for _, name := range slices.Concat(subscribers, lookers) {
		config.Data["service.webhook."+name] = "url: " + p.server.URL + "/" + name +
			"\nheaders:\n- name: Authorization\n  value: Bearer $people-token\n"
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: notify.SecretName},
		Data:       map[string][]byte{"people-token": []byte(peoplesToken)},
	}
	for _, object := range []client.Object{config, secret} {
		g.Expect(shared.Admin.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() {
			NewWithT(t).Expect(shared.Admin.Delete(context.WithoutCancel(t.Context()), object)).To(Succeed())
		})
	}
	p.rollout = newRolloutWith(t, o)
	var err error
	o.Name = p.replica.Name
	p.reporter, err = installed.StartReporter(t.Context(), shared, o,
		append([]string{"--zap-log-level=debug", "--spec-settling=0"}, args...)...)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		p.reporter.Kill()
		if t.Failed() {
			t.Log(p.reporter.Log())
		}
	})
	g.Expect(p.reporter.WaitReady(t.Context())).To(Succeed())
	return p
}

// subscribe has a service told of approvals and of the end.
func (p *people) subscribe(name string) {
	p.t.Helper()
	p.annotate(map[string]string{
		"notifications.argoproj.io/subscribe.stepgate-on-approval-needed." + name:  "",
		"notifications.argoproj.io/subscribe.stepgate-on-rollout-complete." + name: "",
	})
}

func (p *people) annotate(annotations map[string]string) {
	p.t.Helper()
	set := p.Set.DeepCopy()
	p.Expect(shared.Admin.Get(p.ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
	before := set.DeepCopy()
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	for key, value := range annotations {
		set.Annotations[key] = value
	}
	p.Expect(shared.Admin.Patch(p.ctx, set, client.MergeFrom(before))).To(Succeed())
}

// restart ends the reporter as kill -9 does, and starts it again.
func (p *people) restart() {
	p.t.Helper()
	p.reporter.Kill()
	p.Expect(p.reporter.StartAgain(p.ctx, shared)).To(Succeed())
	p.Expect(p.reporter.WaitReady(p.ctx)).To(Succeed())
}

// TestPeopleAreTold of an approval that is needed, and of a rollout that is complete: once each, although the process is
// killed in between. After each restart somebody else subscribes. Who was told before is not told again, and that the
// new one is told shows that stepgate has looked.
func TestPeopleAreTold(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	p.annotate(map[string]string{settings.ApproveAnnotation: "3"})
	p.subscribe("alice")
	p.done("dev")
	p.done("qa")
	needed := ": step 3: stepgate approve guestbook -n " + p.namespace + " --step 3"
	p.Eventually(p.told).Should(Equal([]string{"alice" + needed}))

	p.restart()
	p.subscribe("bob")
	want := []string{"alice" + needed, "bob" + needed}
	p.Eventually(p.told).Should(Equal(want))

	p.annotate(map[string]string{settings.ApprovedAnnotation: approvedProd})
	p.done("prod")
	complete := ": guestbook is complete at 78de5d3"
	want = slices.Sorted(slices.Values(append(want, "alice"+complete, "bob"+complete)))
	p.Eventually(p.told).Should(Equal(want))

	p.restart()
	p.subscribe("carol")
	want = append(want, "carol"+complete)
	p.Eventually(p.told).Should(Equal(want))

	// What is wrong is said, and no secret is.
	p.annotate(map[string]string{"notifications.argoproj.io/subscribe.stepgate-on-rollout-complete.dave": ""})
	p.Eventually(func() []string { return p.untold() }).Should(ConsistOf(
		`stepgate could not send a notification: argocd-notifications-cm has no service "dave"`))
	p.Expect(p.told()).To(Equal(want))
	p.Expect(p.reporter.Metric(p.ctx, "stepgate_notifications_total", "result", "sent")).To(BeNumerically("==", 1))
	p.Expect(p.reporter.Log()).NotTo(ContainSubstring(peoplesToken))
	p.Expect(p.reporter.Log()).NotTo(ContainSubstring(p.server.URL + "/alice"))
}

// untold are the notes of the Events on the ApplicationSet about notifications.
func (p *people) untold() (notes []string) {
	var list eventsv1.EventList
	p.Expect(shared.Admin.List(p.ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
	for i := range list.Items {
		if e := &list.Items[i]; e.Reason == "NotificationFailed" && e.Regarding.Kind == "ApplicationSet" &&
			e.Regarding.UID == p.Set.UID {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// TestWhatWasSentIsWrittenOnce by one of three replicas that have read the same, on a ConfigMap of the real API server.
func TestWhatWasSentIsWrittenOnce(t *testing.T) {
	g := NewWithT(t)
	clients, err := kubernetes.NewForConfig(shared.Config)
	g.Expect(err).NotTo(HaveOccurred())
	state := notify.Cluster{Clientset: clients, State: types.NamespacedName{Namespace: "default", Name: "sent"}}
	for round := range 5 { // the first one creates it
		var group errgroup.Group
		var written, conflicts atomic.Int32
		_, version, err := state.Read(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		for replica := range 3 {
			group.Go(func() error {
				_, err := state.Write(t.Context(), map[string]string{"round": fmt.Sprint(round, replica)}, version)
				switch {
				case err == nil:
					written.Add(1)
				case errors.Is(err, notify.ErrConflict):
					conflicts.Add(1)
				default:
					return err
				}
				return nil
			})
		}
		g.Expect(group.Wait()).To(Succeed())
		g.Expect([]int32{written.Load(), conflicts.Load()}).To(Equal([]int32{1, 2}))
	}
}
