// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
)

// spans is an OpenTelemetry collector that remembers the names of the spans by their trace.
type spans struct {
	collector.UnimplementedTraceServiceServer
	mu      sync.Mutex
	byTrace map[string][]string
}

// Export is collector.TraceServiceServer.
func (s *spans) Export(
	_ context.Context, r *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				trace := hex.EncodeToString(span.GetTraceId())
				s.byTrace[trace] = append(s.byTrace[trace], span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func (s *spans) of(trace string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byTrace[trace]
}

func collect(t *testing.T) (s *spans, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	s = &spans{byTrace: map[string][]string{}}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s, listener.Addr().String()
}

// TestTraces calls stepgate as an API server does: with a trace that is sampled, and with one that is not. stepgate
// traces the call and its own reads of the first, and nothing else.
func TestTraces(t *testing.T) {
	s, address := collect(t)
	r := newRollout(t, "--tracing-endpoint="+address)
	const sampled, unsampled = "0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c"
	r.post(r.app("prod"), "00-"+unsampled+"-b7ad6b7169203331-00")
	r.post(r.app("prod"), "00-"+sampled+"-b7ad6b7169203331-01")
	r.Expect(r.replica.Terminate()).To(Succeed(), "it sends the last spans when it ends")
	r.Eventually(func() []string { return s.of(sampled) }).Should(ConsistOf("POST /validate", "HTTP GET", "HTTP GET"))
	r.Expect(s.byTrace).To(HaveLen(1))
}

// post sends an early sync of prod to the validating webhook as anybody can who reaches its port, with a trace.
func (r *rollout) post(prod *argo.Application, traceparent string) {
	r.t.Helper()
	before := prod.DeepCopy()
	prod.Operation = guestbook.Pinned(guestbook.RollingSync(), prod)
	r.Expect(r.call(before, prod, traceparent).Allowed).To(BeFalse())
}

// call asks the gate about a write, past the API server. before is nil where the write creates the Application.
func (r *rollout) call(before, after *argo.Application, traceparent string) *admissionv1.AdmissionResponse {
	r.t.Helper()
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
	}
	review.Request = &admissionv1.AdmissionRequest{
		UID: "1", Namespace: r.namespace, Name: after.Name, Operation: admissionv1.Create,
		Kind:     metav1.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		Resource: metav1.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"},
	}
	raw := func(app *argo.Application) runtime.RawExtension {
		text, err := json.Marshal(app)
		r.Expect(err).NotTo(HaveOccurred())
		return runtime.RawExtension{Raw: text}
	}
	review.Request.Object = raw(after)
	if before != nil {
		review.Request.Operation, review.Request.OldObject = admissionv1.Update, raw(before)
	}
	review.Request.UserInfo.Username = cluster.ControllerAccount
	body, err := json.Marshal(review)
	r.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "https://"+r.replica.Webhook+webhook.ValidatePath,
		bytes.NewReader(body))
	r.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", traceparent)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	var answer admissionv1.AdmissionReview
	r.Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
	return answer.Response
}
