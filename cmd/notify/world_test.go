// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/judge"
	gate "github.com/stepgate/stepgate/webhook/settings"
)

// start is when the clock begins.
var start = time.Date(2026, 11, 22, 20, 31, 7, 0, time.UTC)

// service begins the keys of the webhooks of argocd-notifications-cm.
const service = "service." + "webhook."

const password = "s3cret-token"

// world is a cluster with the rollout guestbook, and a server that is a webhook service of Argo CD's notifications.
type world struct {
	*WithT
	t *testing.T
	*rollout.Snapshot
	set *argo.ApplicationSet
	// waves are the sync waves of the environments; nil where RollingSync has steps for them.
	waves map[string]string
	clock *clocktesting.FakeClock
	// config is argocd-notifications-cm.
	config  *corev1.ConfigMap
	secrets map[string][]byte
	*store
	evidence judge.Evidence
	presence gate.Presence

	mu       sync.Mutex
	received []string
	// fail has the server fail.
	fail bool
	// counted and posted are what became of messages.
	counted map[string]int
	posted  []string
	logged  []string
}

// store is a Store with a compare-and-swap.
type store struct {
	mu      sync.Mutex
	data    map[string]string
	version int
	// before is called before a write; an error of it is the write's.
	before func() error
}

func (s *store) Read(context.Context) (map[string]string, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version == 0 {
		return nil, "", nil
	}
	return maps.Clone(s.data), strconv.Itoa(s.version), nil
}

func (s *store) Write(_ context.Context, data map[string]string, version string) (string, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := strconv.Itoa(s.version); version != is && (version != "" || s.version != 0) {
		return "", fmt.Errorf("%w: it is %s", ErrConflict, is)
	}
	s.version++
	s.data = maps.Clone(data)
	return strconv.Itoa(s.version), nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		WithT: NewWithT(t), t: t, clock: clocktesting.NewFakeClock(start), store: &store{}, counted: map[string]int{},
		secrets: map[string][]byte{"token": []byte(password)}, set: guestbook.Set("argocd"),
	}
	w.set.UID = "set"
	w.set.Annotations = map[string]string{}
	for _, trigger := range []string{
		"step-waiting", "approval-needed", "step-stopped", "verification", "rollout-complete",
	} {
		w.subscribe("stepgate-on-"+trigger, "people")
	}
	server := httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(server.Close)
	w.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Data: map[string]string{
		service + "people": "url: " + server.URL + "/hook\n" +
			"headers:\n- name: Authorization\n  value: Bearer $token\n",
	}}
	return w
}

func (w *world) receive(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+password {
		w.t.Errorf("the header is %q", r.Header.Get("Authorization"))
	}
	if w.fail {
		rw.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.received = append(w.received, strings.TrimSpace(string(body)))
}

// take takes what the server has received.
func (w *world) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.received
	w.received = nil
	return all
}

func (w *world) subscribe(trigger, service string) {
	w.set.Annotations["notifications.argoproj.io/subscribe."+trigger+"."+service] = ""
}

// Synced is Known.
func (*world) Synced() bool { return true }

// Settings is Source.
func (w *world) Settings(context.Context) (*corev1.ConfigMap, *corev1.Secret, error) {
	return w.config, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Data: w.secrets}, nil
}

// NotificationDone is Observer.
func (w *world) NotificationDone(trigger, service, result string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counted[strings.TrimPrefix(trigger, Prefix)+" "+service+" "+result]++
}

// Notify is Poster.
func (w *world) Notify(_ context.Context, set types.NamespacedName, _ types.UID, note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posted = append(w.posted, set.String()+" "+note)
}

// ctx has a log that is kept.
func (w *world) ctx() context.Context {
	return logr.NewContext(w.t.Context(), funcr.New(func(prefix, args string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.logged = append(w.logged, prefix+" "+args)
	}, funcr.Options{}))
}

func (w *world) log() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.logged, "\n")
}

// new returns a Notifier, as a process that begins has one.
func (w *world) new() *Notifier {
	return New(Options{
		Config: gate.Config{
			Mode: gate.Enforce, Hold: true, Release: true, ServerAccounts: []string{"argocd-server"},
			Presence: func(string) gate.Presence { return w.presence },
		},
		Known: w, Gated: func(namespace string) bool { return namespace == "argocd" }, Source: w, Store: w.store, Observer: w,
		Poster: w, Clock: w.clock, Evidence: w.evidence,
	})
}

// is brings the Applications into states: NAME=STATE, as guestbook.Put has it.
func (w *world) is(text string) {
	w.t.Helper()
	now := w.clock.Now()
	w.set.Status = argo.ApplicationSetStatus{}
	var apps []*argo.Application
	for word := range strings.FieldsSeq(text) {
		name, state, _ := strings.Cut(word, "=")
		env, _, _ := strings.Cut(name, "-")
		app := guestbook.Application(w.set, env)
		app.Name, app.UID, app.ResourceVersion = "guestbook-"+name, types.UID(name), "1"
		guestbook.Put(w.set, app, 1+slices.Index([]string{"dev", "qa", "prod"}, env), state, now)
		if w.waves != nil {
			app.Annotations = map[string]string{"argocd.argoproj.io/sync-wave": w.waves[env]}
		}
		apps = append(apps, app)
	}
	w.Snapshot = rollout.NewSnapshot()
	w.Add(w.set, apps...)
}

// look looks once, and waits until everything is sent.
func (w *world) look(n *Notifier) {
	w.t.Helper()
	n.Changed(types.NamespacedName{Namespace: "argocd", Name: "guestbook"})
	n.look(w.ctx())
	w.settle(n)
}

func (w *world) settle(n *Notifier) {
	w.t.Helper()
	for len(n.post.flying) > 0 {
		n.settle(w.ctx(), <-n.post.results)
	}
}

func nameOf(w *world) types.NamespacedName {
	return types.NamespacedName{Namespace: w.set.Namespace, Name: w.set.Name}
}

func contextOf(w *world) (context.Context, context.CancelFunc) { return context.WithCancel(w.ctx()) }
