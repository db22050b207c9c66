// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	admission "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/oracle"
	"github.com/stepgate/stepgate/test/script"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	watched "github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/settings"
)

// yes is a webhook that always allows.
type yes struct{ calls *atomic.Int64 }

// Handle allows.
func (y yes) Handle(context.Context, admission.AdmissionRequest) admission.AdmissionResponse {
	y.calls.Add(1)
	return admission.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
}

// events would create Events. Nothing is posted of a server dry-run.
type events struct{}

// CreateEvent creates nothing.
func (events) CreateEvent(context.Context, *eventsv1.Event) error { return nil }

// counting counts live reads.
type counting struct {
	*record.Metrics
	reads *atomic.Int64
}

// ReadDone counts one read.
func (c counting) ReadDone(kind string, took time.Duration, err error) {
	c.reads.Add(1)
	c.Metrics.ReadDone(kind, took, err)
}

// hosted are webhooks that run in this process, on stepgate's own server.
type hosted struct {
	certificate tls.Certificate
	bundle      []byte
	// always and plain are addresses; metered is another plain, whose reads go through the meter.
	always, plain, metered                                                   string
	alwaysCalls, idleCalls, pinsCalls, deniesCalls, plainReads, meteredReads atomic.Int64
}

// host serves the webhooks and registers all but one with the API server.
func host(ctx context.Context, s *suite) *hosted {
	h := &hosted{}
	certificate, key, err := cluster.SelfSigned("bench", time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	script.Must(err)
	h.certificate, h.bundle = script.Get(tls.X509KeyPair(certificate, key)), certificate
	h.always = script.Get(h.serve(ctx, yes{&h.alwaysCalls}, nil, record.NewMetrics(prometheus.NewRegistry())))
	source := guestbook.Application(guestbook.Set("bench"), "prod").Spec.GetSource()
	denying := script.Get(h.serve(ctx, denies{&h.deniesCalls}, pins{&source, &h.pinsCalls},
		record.NewMetrics(prometheus.NewRegistry())))
	idle := script.Get(h.serve(ctx, yes{&h.idleCalls}, yes{&h.idleCalls}, record.NewMetrics(prometheus.NewRegistry())))
	h.plain = script.Get(h.servePlain(ctx, s, s.reader, &h.plainReads))
	h.metered = script.Get(h.servePlain(ctx, s, s.counter, &h.meteredReads))
	script.Must(h.register(ctx, s, alwaysUser, h.always))
	script.Must(h.register(ctx, s, plainUser, h.plain))
	script.Must(h.register(ctx, s, deniedUser, denying))
	script.Must(h.registerMutating(ctx, s, deniedUser, denying))
	script.Must(h.register(ctx, s, idleUser, idle))
	script.Must(h.registerMutating(ctx, s, idleUser, idle))
	script.Must(restrict(ctx, s))
	return h
}

// serve serves a validating webhook, and a mutating one unless that is nil, until the program ends, and returns its
// address.
func (h *hosted) serve(
	ctx context.Context, validating, mutating admission.AdmissionHandler, metrics *record.Metrics,
) (string, error) {
	handlers := map[string]admission.AdmissionHandler{webhook.ValidatePath: validating}
	if mutating != nil {
		handlers[webhook.MutatePath] = mutating
	}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &h.certificate, nil }
	server, err := server.Listen(server.Options{
		Address: "127.0.0.1:0", Handlers: handlers, Requests: metrics,
		GetCertificate: certificate, Log: logr.Discard(),
	})
	if err != nil {
		return "", err
	}
	go func() {
		if err := server.Run(ctx); err != nil {
			progress("a webhook of this process: %v", err)
		}
	}()
	return server.Addr().String(), nil
}

// servePlain serves stepgate with the reader that reads every sibling whole.
func (h *hosted) servePlain(ctx context.Context, s *suite, config *rest.Config, reads *atomic.Int64) (string, error) {
	live, err := client.New(config, client.Options{Scheme: s.Admin.Scheme()})
	if err != nil {
		return "", err
	}
	metrics := record.NewMetrics(prometheus.NewRegistry())
	known := watched.NewCache()
	recorder := record.NewRecorder(metrics,
		record.NewEvents(events{}, metrics, logr.Discard(), "bench", clock.RealClock{}),
		record.NewWaiting(known, clock.RealClock{}))
	j := judge.New(settings.Config{}, judge.Dependencies{
		Live: oracle.New(live, counting{metrics, reads}), Histories: unwatched{known}, Clock: clock.RealClock{},
	})
	gate := webhook.NewGate(&course.Course{Judge: j, Known: known},
		webhook.Dependencies{Lookup: always{}, Record: recorder})
	return h.serve(ctx, gate, nil, metrics)
}

// unwatched are the histories of a reader that watches nothing. The cache would say that every Application has joined
// just now, for all that it knows, and every write of a later step would be NotGenerated.
type unwatched struct{ *watched.Cache }

// History has seen nothing.
func (unwatched) History(*policy.ApplicationSet, uint64, uint64) policy.History {
	return policy.History{}
}

// ContentSince knows of no change of a spec.
func (unwatched) ContentSince(types.UID, argocd.Content) (since time.Time, byAnother, ended bool) {
	return time.Time{}, false, false
}

// always says of every Application that it exists.
type always struct{}

func (always) Exists(context.Context, types.NamespacedName, types.UID, []types.UID) bool { return true }

// register registers a webhook of this process exactly as stepgate is registered, but for the writes of another user.
func (h *hosted) register(ctx context.Context, s *suite, user, address string) error {
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := s.Admin.Get(ctx, types.NamespacedName{Name: s.gate.Name}, &c); err != nil {
		return err
	}
	c.ObjectMeta = metav1.ObjectMeta{Name: user}
	url, timeout := "https://"+address+webhook.ValidatePath, int32(30)
	c.Webhooks = c.Webhooks[:1] // not the one for ApplicationSets
	w := &c.Webhooks[0]
	w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: h.bundle}
	w.TimeoutSeconds = &timeout
	w.MatchConditions = append([]admissionregistrationv1.MatchCondition{isUser(user)}, w.MatchConditions...)
	return s.Admin.Create(ctx, &c)
}

// registerMutating registers a mutating webhook of this process exactly as the one of stepgate is registered, but for
// the writes of another user.
func (h *hosted) registerMutating(ctx context.Context, s *suite, user, address string) error {
	var c admissionregistrationv1.MutatingWebhookConfiguration
	if err := s.Admin.Get(ctx, types.NamespacedName{Name: s.gate.Name}, &c); err != nil {
		return err
	}
	c.ObjectMeta = metav1.ObjectMeta{Name: user}
	url := "https://" + address + webhook.MutatePath
	w := &c.Webhooks[0]
	w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: h.bundle}
	w.MatchConditions = append([]admissionregistrationv1.MatchCondition{isUser(user)}, w.MatchConditions...)
	return s.Admin.Create(ctx, &c)
}

// restrict has each stepgate that is measured be called for the writes of its users only.
func restrict(ctx context.Context, s *suite) error {
	meta, barrier := metav1.ObjectMeta{Name: s.gate.Name}, metav1.ObjectMeta{Name: s.barrier.Name}
	limit := func(configuration client.Object, users ...string) error {
		patch, err := json.Marshal([]map[string]any{
			{"op": "add", "path": "/webhooks/0/matchConditions/0", "value": isUser(users...)},
		})
		if err != nil {
			return err
		}
		return s.Admin.Patch(ctx, configuration, client.RawPatch(types.JSONPatchType, patch))
	}
	return errors.Join(
		limit(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}, gateUser, controller,
			unmutatedController),
		limit(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}, gateUser, controller),
		limit(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: barrier}, barrierUser),
		limit(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: barrier}, barrierUser),
	)
}

func isUser(users ...string) admissionregistrationv1.MatchCondition {
	list := "'" + strings.Join(users, "', '") + "'"
	return admissionregistrationv1.MatchCondition{
		Name: "user", Expression: fmt.Sprintf("request.userInfo.username in [%s]", list),
	}
}
