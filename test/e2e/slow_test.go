// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/script"
)

// slowWebhooks are the scenarios with another webhook beside stepgate's.
func slowWebhooks() []scenario {
	return []scenario{{
		key: "slow-webhook", title: "another webhook takes 1.5 s for a sync that is written again while it runs", each: 1, quick: true, world: true,
		limit: 2 * time.Minute, waits: time.Minute, play: slowWebhook,
	}}
}

// answersAfter is how long the other webhook takes.
const answersAfter = 1500 * time.Millisecond

// slowWebhook has the ApplicationSet controller repeat the sync of an Application while it runs, and the answer to that
// write come after the Application is done. The API server looks at the Application once more when it has changed
// meanwhile, and not a second time. So the sync takes longer than the webhook, for it has two waves, and less than two
// calls of it.
func slowWebhook(r *rollout) {
	r.slowDown()
	r.begin()
	for _, m := range r.members {
		r.commitTo(branch{m.repo, m.branch}, files{m.path + "/later.yaml": fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s-later\n  annotations:\n    argocd.argoproj.io/sync-wave: \"1\"\n", m.name)})
	}
	r.version("2", r.members)
	r.refresh(r.in("prod", "qa")...)
	// The controller looks at what becomes of a sync only if the Application was compared in a later second than it has
	// recorded it as Pending.
	r.pause(answersAfter)
	r.refresh(r.in("qa")...)
	r.refresh(r.in("dev")...)
}

// slowDown registers a webhook that answers late, and changes nothing, for the syncs of this rollout's Applications
// that are written again.
func (r *rollout) slowDown() {
	certificate, key, err := cluster.SelfSigned("slow", time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	script.Must(err)
	listener := script.Get(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{script.Get(tls.X509KeyPair(certificate, key))},
	}))
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, Handler: &admission.Webhook{Handler: admission.HandlerFunc(answerLate)},
	}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(r.ctx, func() { _ = server.Close() })

	all, address := admissionregistrationv1.NamespacedScope, "https://"+listener.Addr().(*net.TCPAddr).String()
	c := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "a-slow-one-" + string(r.mode)},
	}
	c.Webhooks = []admissionregistrationv1.MutatingWebhook{{
		Name: "slow.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: certificate},
		FailurePolicy: ptr.To(admissionregistrationv1.Ignore), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"argoproj.io"}, APIVersions: []string{"*"}, Resources: []string{"applications"}, Scope: &all},
		}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: string(r.mode)}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "again",
			Expression: fmt.Sprintf("request.userInfo.username == %q && object.metadata.name.startsWith(%q) && has(object.operation) && has(oldObject.operation)",
				cluster.ApplicationSetAccount, r.name+"-"),
		}},
	}}
	if err := r.Admin.Create(r.ctx, c); !apierrors.IsAlreadyExists(err) {
		script.Must(err)
	}
}

func answerLate(ctx context.Context, _ admission.Request) admission.Response {
	select {
	case <-ctx.Done():
	case <-time.After(answersAfter):
	}
	return admission.Allowed("")
}
