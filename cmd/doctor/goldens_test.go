// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
)

var screens = map[string]screen.Screen{
	"80.golden": {Width: 80}, "80-colour.golden": {Width: 80, Colour: true}, "140.golden": {Width: 140}, "140-colour.golden": {Width: 140, Colour: true},
}

func goldens(t *testing.T, name string, document any, lines func(screen.Screen) []string) {
	t.Helper()
	for suffix, s := range screens {
		golden.Expect(t, name+"-"+suffix, strings.Join(lines(s), "\n")+"\n")
	}
	text, err := json.MarshalIndent(document, "", "  ")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	golden.Expect(t, name+".json", string(text)+"\n")
}

func uninstall(w *world) {
	w.validating, w.mutating, w.deployment, w.budget, w.pods, w.slice = nil, nil, nil, nil, nil, nil
}

// broken is a cluster in which many things are wrong.
func broken(t *testing.T) *world {
	w := healthy(t)
	ignore := admissionv1.Ignore
	w.mutating = nil
	w.validating.Webhooks[0].FailurePolicy = &ignore
	w.validating.Webhooks[0].ClientConfig.CABundle = newAuthority(NewWithT(t), now.Add(-day), now.Add(day)).pem()
	w.deployment.Status.ReadyReplicas = 1
	w.refuse, w.pin = answer{}, answer{}
	w.settings.Gate.ServerAccounts = []string{"system:serviceaccount:openshift-gitops:openshift-gitops-argocd-server"}
	w.guestbook.Annotations["stepgate.io/exclude"] = "guestbook-dev 2026-11-21T18:00:00Z INC-1234"
	w.params.Data["applicationsetcontroller.namespaces"] = "team-*"
	w.cm.Data["timeout.reconciliation"] = "0s"
	w.settings.Namespaces, w.settings.Gated = []string{"argocd"}, func(n string) bool { return n == "argocd" }
	return w
}

// byArgoCD makes an installation one of the Application argocd/stepgate.
func byArgoCD(w *world) {
	w.validating.Annotations = map[string]string{
		"argocd.argoproj.io/tracking-id": "stepgate:admissionregistration.k8s.io/ValidatingWebhookConfiguration:stepgate/stepgate",
	}
}

// worlds are clusters as somebody would see them.
var worlds = map[string]func(*testing.T) *world{
	"healthy": healthy,
	"nothing-installed": func(t *testing.T) *world {
		w := healthy(t)
		uninstall(w)
		return w
	},
	"broken": broken,
	"broken-argocd": func(t *testing.T) *world {
		w := broken(t)
		byArgoCD(w)
		return w
	},
	"broken-unmarked": func(t *testing.T) *world {
		w := broken(t)
		w.validating.Annotations = nil
		return w
	},
	"without-rights": func(t *testing.T) *world {
		w := healthy(t)
		w.mayNot = func(_, resource, user string) bool {
			return user == "" && resource != "validatingwebhookconfigurations" && resource != "applicationsets" &&
				resource != "applications"
		}
		return w
	},
	"no-right-at-all": func(t *testing.T) *world {
		w := healthy(t)
		w.mayNot = func(_, _, user string) bool { return user == "" }
		return w
	},
	"audit": func(t *testing.T) *world {
		w := healthy(t)
		audit(w)
		return w
	},
}

func TestReports(t *testing.T) {
	for name, make := range worlds {
		t.Run(name, func(t *testing.T) {
			report := make(t).sources(t).Gather(t.Context()).Examine()
			goldens(t, name, report, report.Lines)
		})
	}
}

func TestEmergencies(t *testing.T) {
	for name, change := range map[string]func(*world){
		"emergency-nothing-installed": uninstall,
		"emergency":                   func(*world) {},
		"emergency-argocd":            byArgoCD,
		"emergency-unmarked":          func(w *world) { w.validating.Annotations = nil },
		"emergency-hindered": func(w *world) {
			w.settings.Gate.BypassUsers = nil
			w.settings.Gate.IgnoredAnnotations = []string{"stepgate.io/bypass"}
			w.validating.Webhooks[0].NamespaceSelector = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := healthy(t)
			change(w)
			facts := w.sources(t).GatherInstalled(t.Context())
			ways := facts.Ways(nil)
			goldens(t, name, facts.Emergency(ways), func(s screen.Screen) []string { return facts.EmergencyLines(s, ways) })
		})
	}
}

// Without a cluster there are ways, too.
func TestTheEmergencyOfAClusterThatDoesNotAnswer(t *testing.T) {
	facts := doctor.NotRead(now, errors.New("dial tcp 10.0.0.1:443: connect: connection refused"))
	ways := facts.Ways(nil)
	goldens(t, "emergency-unread", facts.Emergency(ways), func(s screen.Screen) []string {
		return facts.EmergencyLines(s, ways)
	})
}
