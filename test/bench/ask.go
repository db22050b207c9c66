// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
)

// answer is the right answer: allow when the earlier steps are done, else deny, or hold for the ApplicationSet
// controller.
type answer int

const (
	deny answer = iota
	hold
	allow
)

// patcher sends operation writes to the API server as one user.
type patcher struct {
	client rest.Interface
	// pinned says that the operations name the compared revision and source already.
	pinned bool
}

// patch is a server dry-run merge PATCH of the target's operation. The wrong answer is an error.
func (p *patcher) patch(ctx context.Context, r *rollout, want answer) error {
	return send(ctx, p.request(r).Param("dryRun", "All").Body(p.body(r)), r, want)
}

// operations counts those that were stored. Each is another one.
var operations atomic.Int64

// store does the same for good.
func (p *patcher) store(ctx context.Context, r *rollout, want answer) error {
	another := fmt.Appendf(nil, "Application resource %d", operations.Add(1))
	body := bytes.Replace(p.body(r), []byte("Application resource"), another, 1)
	return send(ctx, p.request(r).Body(body), r, want)
}

func (p *patcher) body(r *rollout) []byte {
	if p.pinned {
		return r.pinned
	}
	return r.unpinned
}

func (p *patcher) request(r *rollout) *rest.Request {
	return p.client.Patch(types.MergePatchType).Namespace(r.namespace).Resource("applications").Name(r.target)
}

func send(ctx context.Context, request *rest.Request, r *rollout, want answer) error {
	result := request.Do(ctx)
	switch err := result.Error(); {
	case want != deny && err != nil:
		return fmt.Errorf("patch %s/%s: want it admitted: %w", r.namespace, r.target, err)
	case want == deny && err == nil:
		return fmt.Errorf("patch %s/%s: it was admitted although an earlier step is not done", r.namespace, r.target)
	case want == deny && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "NotHealthy")):
		return fmt.Errorf("patch %s/%s: want a denial by stepgate: %w", r.namespace, r.target, err)
	case want == deny:
		return nil
	}
	answered, err := result.Raw()
	if err != nil {
		return err
	}
	var app struct {
		Operation json.RawMessage `json:"operation"`
	}
	if err := json.Unmarshal(answered, &app); err != nil {
		return err
	}
	if held := len(app.Operation) == 0; held != (want == hold) {
		return fmt.Errorf("patch %s/%s: held is %t", r.namespace, r.target, held)
	}
	return nil
}

// poster sends AdmissionReviews to a webhook, as the API server does: over TLS, on connections that stay open.
type poster struct {
	client *http.Client
	url    string
}

func newPoster(address string) *poster {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: concurrent}
	return &poster{
		client: &http.Client{Transport: transport}, url: "https://" + address + webhook.ValidatePath + "?timeout=30s",
	}
}

// post sends one AdmissionReview. The wrong answer is an error.
func (p *poster) post(ctx context.Context, r *rollout, want answer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(r.review))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	verdict, reason := `"allowed":true`, "EarlierStepsDone"
	if want == deny {
		verdict, reason = `"allowed":false`, "NotHealthy"
	}
	if !strings.Contains(string(text), verdict) || !strings.Contains(string(text), reason) {
		return fmt.Errorf("post %s/%s: want %s because of %s: %s %.500s", r.namespace, r.target, verdict, reason,
			response.Status, text)
	}
	return nil
}

// review is the AdmissionReview of a server dry-run that sets the operation of an Application, pinned as the mutating
// webhook pins it.
func review(target *argo.Application) []byte {
	changed := target.DeepCopy()
	changed.Operation = guestbook.Pinned(guestbook.Once(guestbook.RollingSync()), target)
	dryRun := true
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "bench", Namespace: target.Namespace, Name: target.Name, Operation: admissionv1.Update, DryRun: &dryRun,
		Object: runtime.RawExtension{Raw: encode(changed)}, OldObject: runtime.RawExtension{Raw: encode(target)},
	}}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	review.Request.Kind.Group, review.Request.Kind.Version, review.Request.Kind.Kind = "argoproj.io", "v1alpha1",
		"Application"
	return encode(review)
}
