// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// The texts are those of API servers from 1.28 to 1.36.
func TestClassify(t *testing.T) {
	const call = `Internal error occurred: failed calling webhook "operation.stepgate.io": failed to call webhook: Post "https://stepgate.stepgate.svc:443/validate?timeout=5s": `
	const serve = `Internal error occurred: failed calling webhook "operation.stepgate.io": `
	for name, tc := range map[string]struct {
		text string
		want doctor.Cause
	}{
		"a denial":                   {`admission webhook "operation.stepgate.io" denied the request: step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: guestbook-dev (NotHealthy: Progressing)`, doctor.Denied},
		"a timeout":                  {call + "context deadline exceeded", doctor.Timeout},
		"a timeout of net/http":      {call + "net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)", doctor.Timeout},
		"a timeout of the network":   {call + "dial tcp 10.96.14.7:443: i/o timeout", doctor.Timeout},
		"an unknown authority":       {call + "tls: failed to verify certificate: x509: certificate signed by unknown authority", doctor.Untrusted},
		"an unknown authority, 1.28": {call + `x509: certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" while trying to verify candidate authority certificate "stepgate-ca")`, doctor.Untrusted},
		"expired":                    {call + "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-21T03:00:00Z is after 2026-11-20T03:00:00Z", doctor.Expired},
		"another name":               {call + "tls: failed to verify certificate: x509: certificate is valid for stepgate.old.svc, not stepgate.stepgate.svc", doctor.WrongName},
		"no name":                    {call + "tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match stepgate.stepgate.svc", doctor.WrongName},
		"an address without a SAN":   {call + "tls: failed to verify certificate: x509: cannot validate certificate for 10.0.0.7 because it doesn't contain any IP SANs", doctor.WrongName},
		"no client certificate":      {call + "remote error: tls: certificate required", doctor.ClientRefused},
		"a bad client certificate":   {call + "remote error: tls: bad certificate", doctor.ClientRefused},
		"no endpoints":               {call + `no endpoints available for service "stepgate"`, doctor.NoEndpoints},
		"no Service":                 {call + `service "stepgate" not found`, doctor.NoService},
		"no port":                    {call + `no service port 443 found for service "stepgate"`, doctor.NoService},
		"nobody listens":             {call + "dial tcp 127.0.0.1:46279: connect: connection refused", doctor.Refused},
		"no host":                    {call + "dial tcp: lookup gate.example.com on 10.96.0.10:53: no such host", doctor.NoHost},
		"no route":                   {call + "dial tcp 10.244.1.7:10250: connect: no route to host", doctor.NoRoute},
		"another path":               {serve + "failed to call webhook: the server could not find the requested resource", doctor.NotFound},
		"stepgate cannot decide":     {serve + `failed to call webhook: an error on the server ("stepgate cannot decide: it could not read the ApplicationSet and its Applications from the API server in time; see stepgate's log") has prevented the request from succeeding`, doctor.Undecided},
		"something else":             {call + "EOF", doctor.Other},
		"a failing match condition":  {`applications.argoproj.io "guestbook-prod-eu" is forbidden: expression 'object.spec.owner == "me"' resulted in error: no such key: owner`, doctor.Condition},
		"a failing admission policy": {`applications.argoproj.io "guestbook-prod-eu" is forbidden: ValidatingAdmissionPolicy 'ours' with binding 'ours' denied request: expression 'object.spec.owner == "me"' resulted in error: no such key: owner`, doctor.Other},
		"no right":                   {`applications.argoproj.io is forbidden: User "jane" cannot create resource "applications" in API group "argoproj.io" in the namespace "argocd"`, doctor.NoRight},
		"nothing about webhooks":     {`Application.argoproj.io "x" is invalid: spec.project: Required value`, doctor.Other},
	} {
		t.Run(name, func(t *testing.T) {
			g, got := NewWithT(t), doctor.Classify(tc.text)
			g.Expect(got.Cause).To(Equal(tc.want))
			if tc.want != doctor.Condition && tc.want != doctor.NoRight && tc.want != doctor.Other || name == "something else" {
				g.Expect(got.Webhook).To(Equal("operation.stepgate.io"))
			}
		})
	}
	NewWithT(t).Expect(
		doctor.Classify(`Internal error occurred: failed calling webhook "validate.kyverno.svc": EOF`),
	).To(Equal(doctor.Failure{
		Webhook: "validate.kyverno.svc", Cause: doctor.Other,
	}))
}
