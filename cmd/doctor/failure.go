// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
)

// Cause is why the API server could not get an answer of a webhook.
type Cause string

// The causes. They are those of docs/platforms.md and docs/runbook.md.
const (
	// Denied is an answer, and no failure.
	Denied Cause = "denied"
	// Undecided is an answer of stepgate that it cannot decide.
	Undecided Cause = "undecided"
	// Untrusted to WrongName are of the certificate.
	Untrusted Cause = "untrusted"
	Expired   Cause = "expired"
	WrongName Cause = "wrongName"
	// ClientRefused means that stepgate refuses the API server's client certificate, or that it has none.
	ClientRefused Cause = "clientRefused"
	Timeout       Cause = "timeout"
	NoEndpoints   Cause = "noEndpoints"
	NoService     Cause = "noService"
	Refused       Cause = "connectionRefused"
	NoHost        Cause = "noHost"
	// NoRoute is a network without a way to the Pod.
	NoRoute  Cause = "noRoute"
	NotFound Cause = "notFound"
	// Condition is a match condition that failed.
	Condition Cause = "condition"
	// NoRight means that the person who asks may not write the Application.
	NoRight Cause = "noRight"
	// Other is anything else.
	Other Cause = "other"
)

// Failure is an error of the API server, understood.
type Failure struct {
	// Webhook is the name of the webhook that it is about, or "".
	Webhook string
	Cause   Cause
}

var (
	deniedBy     = regexp.MustCompile(`admission webhook "([^"]+)" denied the request`)
	failedCall   = regexp.MustCompile(`failed calling webhook "([^"]+)"`)
	causesOfText = []struct {
		text  string
		cause Cause
	}{
		// The order matters: a certificate that has expired is also one that could not be verified.
		{"certificate has expired or is not yet valid", Expired},
		{"x509: certificate is valid for", WrongName},
		{"x509: certificate is not valid for any names", WrongName},
		{"cannot validate certificate for", WrongName},
		{"x509: certificate relies on legacy Common Name", WrongName},
		{"remote error: tls: certificate required", ClientRefused},
		{"remote error: tls: bad certificate", ClientRefused},
		{"remote error: tls: unknown certificate", ClientRefused},
		{"x509:", Untrusted},
		{"failed to verify certificate", Untrusted},
		{"no endpoints available for service", NoEndpoints},
		{"no service port", NoService},
		{"stepgate cannot decide", Undecided},
		{"the server is currently unable to handle the request", Undecided},
		{"connection refused", Refused},
		{"no such host", NoHost},
		{"no route to host", NoRoute},
		{"network is unreachable", NoRoute},
		{"context deadline exceeded", Timeout},
		{"i/o timeout", Timeout},
		{"Client.Timeout exceeded", Timeout},
		{"the server could not find the requested resource", NotFound},
		{"404 page not found", NotFound},
	}
	noService = regexp.MustCompile(`service "[^"]+" not found`)
)

// Classify understands an error of the API server about a write.
func Classify(text string) Failure {
	if match := deniedBy.FindStringSubmatch(text); match != nil {
		return Failure{Webhook: match[1], Cause: Denied}
	}
	match := failedCall.FindStringSubmatch(text)
	if match == nil {
		switch {
		case strings.Contains(text, "' resulted in error: ") && !strings.Contains(text, "ValidatingAdmissionPolicy"):
			return Failure{Cause: Condition}
		case lacked.MatchString(text):
			return Failure{Cause: NoRight}
		}
		return Failure{Cause: Other}
	}
	f := Failure{Webhook: match[1], Cause: Other}
	if noService.MatchString(text) {
		f.Cause = NoService
		return f
	}
	for _, c := range causesOfText {
		if strings.Contains(text, c.text) {
			f.Cause = c.cause
			return f
		}
	}
	return f
}

// explain says what a cause means, and, in a Check that has nothing else, what to do about it.
func (r *Installation) explain(cause Cause) (meaning string, cure Check) {
	pods := fmt.Sprintf("kubectl -n %s get pods -l app.kubernetes.io/instance=%s", r.namespace(), r.helm())
	switch cause {
	case Untrusted:
		return "the caBundle does not verify the certificate that stepgate serves", r.repairBundle(cure)
	case Expired:
		return "the certificate that stepgate serves has expired",
			cure.do("Its log says why it was not renewed.", r.logs("certs"))
	case WrongName:
		return "the certificate is for another name than the one that the API server calls",
			cure.do("Install the chart again: it gives stepgate the name.").by(r.upgrade())
	case ClientRefused:
		return "stepgate refuses the client certificate of the API server",
			cure.do("Compare webhook.clientCA with the API server's admission configuration: " +
				screen.Page("docs/client-certificates.md"))
	case Timeout, NoRoute:
		return "the network does not let the API server reach the Pods",
			cure.do("Open port 10250, or choose another way: "+screen.Page("docs/platforms.md"), pods+" -o wide")
	case NoEndpoints:
		return "no Pod of stepgate is ready", cure.do("Look at the Pods and at their log.", pods, r.logs("ready"))
	case NoService:
		return "the Service is missing, or has another port", cure.do("Install the chart again.").by(r.upgrade())
	case Refused:
		return "nothing listens where the API server calls", cure.do("Look at the Pods, and at the port of the Service.",
			pods, fmt.Sprintf("kubectl -n %s get service %s -o yaml", r.namespace(), r.Name))
	case NoHost:
		return "the API server cannot resolve the host of the webhook",
			cure.do("Correct webhook.url.").by(r.upgrade("webhook.url=https://HOST:PORT/validate"))
	case NotFound:
		return "something else than stepgate answers, or at another path",
			cure.do("Install the chart again.").by(r.upgrade())
	case Undecided:
		return "stepgate answers, but cannot read the ApplicationSet and its Applications",
			cure.do("Its log names the cause.", r.logs("'no decision'"))
	case Condition:
		return "a match condition of a webhook fails",
			cure.do("Correct or remove webhook.matchConditions.").by(r.upgrade("webhook.matchConditions=null"))
	case NoRight, Denied, Other:
	}
	return "the API server says no more", cure.do("Look at stepgate's log.", r.logs("error"))
}
