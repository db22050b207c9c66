// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// Asker sends AdmissionReviews straight to one replica, as the API server does.
type Asker struct {
	replica *installed.Replica
	client  *http.Client
	tally   *Tally
}

// NewAsker returns an Asker that counts the answers.
func NewAsker(replica *installed.Replica, tally *Tally) *Asker {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 100}
	return &Asker{replica: replica, client: &http.Client{Transport: transport}, tally: tally}
}

// Close closes its connections.
func (a *Asker) Close() { a.client.CloseIdleConnections() }

// Ask asks about an operation of prod. timeout is the API server's timeout in the request; the Asker itself waits
// longer. It returns an error when there is no answer at all.
func (a *Asker) Ask(ctx context.Context, r *Rollout, timeout time.Duration) (Outcome, time.Duration, error) {
	body, err := r.Review()
	if err != nil {
		return Failed, 0, err
	}
	want := r.want()
	start := time.Now()
	code, text, err := a.Post(ctx, "?timeout="+timeout.String(), "application/json", body)
	took := time.Since(start)
	outcome, problem := Failed, fmt.Errorf("HTTP %d: %.300s", code, text)
	if err == nil && code == http.StatusOK {
		var review admissionv1.AdmissionReview
		if err = json.Unmarshal(text, &review); err == nil && review.Response == nil {
			err = errors.New("an answer without a response")
		}
		switch {
		case err != nil:
		case review.Response.Allowed == (want == Admitted):
			outcome = Right
		case review.Response.Allowed:
			outcome = WrongAllow
		default:
			outcome = WrongDeny
		}
	}
	if err != nil {
		problem = err
	}
	a.tally.count(want, outcome, start, problem)
	return outcome, took, err
}

// Post sends any body and returns the answer.
func (a *Asker) Post(ctx context.Context, query, contentType string, body []byte) (code int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+a.replica.Webhook+"/validate"+query,
		bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := a.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, errors.Join(err, response.Body.Close())
}

// Review is the AdmissionReview of an operation of prod, pinned as the mutating webhook pins it.
func (r *Rollout) Review() ([]byte, error) {
	before, err := json.Marshal(r.Prod)
	if err != nil {
		return nil, err
	}
	changed := r.Prod.DeepCopy()
	changed.Operation = guestbook.Pinned(r.operation(), changed)
	after, err := json.Marshal(changed)
	if err != nil {
		return nil, err
	}
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "asked", Namespace: r.Prod.Namespace, Name: r.Prod.Name, Operation: admissionv1.Update,
		Object: runtime.RawExtension{Raw: after}, OldObject: runtime.RawExtension{Raw: before},
	}}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	review.Request.Kind.Group, review.Request.Kind.Version, review.Request.Kind.Kind = "argoproj.io", "v1alpha1",
		"Application"
	return json.Marshal(review)
}
