package main

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	o := &options{}
	o.bind(pflag.NewFlagSet("serve", pflag.ContinueOnError))
	g.Expect(*o).To(Equal(options{
		gate: gateFlags{mode: "enforce", require: "revision", pin: "compared", settling: 10 * time.Second, hold: true, release: true, annotations: settings.Annotations(), syncWindows: true, argocdNamespace: "argocd"},
		accounts: accountFlags{
			server:         []string{"system:serviceaccount:argocd:argocd-server"},
			controller:     []string{"system:serviceaccount:argocd:argocd-application-controller"},
			applicationSet: []string{"system:serviceaccount:argocd:argocd-applicationset-controller"},
		},
		addresses:    addressFlags{webhook: ":10250", metrics: ":8080", probe: ":8081", shutdownDelay: 10 * time.Second},
		certificates: certificateFlags{mode: "self", leafDuration: 168 * time.Hour, caDuration: 8760 * time.Hour},
		barrier:      barrierFlags{above: barrierAbove},
	}))
	config, err := o.config()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config).To(Equal(settings.Config{
		Mode: settings.Enforce, Require: policy.RequireRevision,
		ServerAccounts: o.accounts.server, ControllerAccounts: o.accounts.controller, ApplicationSetAccounts: o.accounts.applicationSet,
		Settling: 10 * time.Second, Hold: true, Release: true,
	}), "the strictest, and nobody may bypass")
}

func TestConfigTakesEveryFlag(t *testing.T) {
	g := NewWithT(t)
	o := &options{}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.bind(flags)
	g.Expect(flags.Parse(strings.Fields("--mode audit --require health --gate-rollbacks --allow-failed-operations --spec-settling 0 --hold=false --release=false --bypass-user alice,bob --bypass-user carol --allowed-annotations stepgate.io/require,stepgate.io/exclude" +
		" --approver alice --approver CN=bob,O=ops --approver-group sre --approve-four-eyes" +
		" --argocd-server-account s --argocd-controller-account c --argocd-applicationset-account a" +
		" --cert-secret n/s --cert-ip-address 10.0.0.1,::1 --metrics-bind-address 0 --health-probe-bind-address 0 --shutdown-delay 0s"))).To(Succeed())
	g.Expect(o.validate()).To(Succeed())
	g.Expect(o.config()).To(Equal(settings.Config{
		Mode: settings.Audit, Require: policy.RequireHealth, GateRollbacks: true, AllowFailedOperations: true, Settling: -1,
		ServerAccounts: []string{"s"}, ControllerAccounts: []string{"c"}, ApplicationSetAccounts: []string{"a"}, BypassUsers: []string{"alice", "bob", "carol"},
		FourEyes:           true,
		IgnoredAnnotations: []string{"stepgate.io/mode", "stepgate.io/bypass-until", "stepgate.io/pause", "stepgate.io/soak", "stepgate.io/approve", "stepgate.io/max-failures"},
	}))
	g.Expect(o.approvals.approvers).To(Equal(webhook.ApproverConfig{Users: []string{"alice", "CN=bob,O=ops"}, Groups: []string{"sre"}}))
}

// parsed are the options of a complete command line with more flags.
func parsed(t *testing.T, args string) *options {
	o := &options{}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.bind(flags)
	NewWithT(t).Expect(flags.Parse(append(strings.Fields(complete)[1:], strings.Fields(args)...))).To(Succeed())
	return o
}

// Both kinds of configuration are optional and repeatable.
func TestConfigurationFlags(t *testing.T) {
	for args, want := range map[string]certs.Configurations{
		"":                         {},
		"--webhook-configuration=": {Validating: []string{}},
		"--webhook-configuration a --webhook-configuration b,c":                      {Validating: []string{"a", "b", "c"}},
		"--mutating-webhook-configuration a --mutating-webhook-configuration b":      {Mutating: []string{"a", "b"}},
		"--webhook-configuration stepgate --mutating-webhook-configuration stepgate": {Validating: []string{"stepgate"}, Mutating: []string{"stepgate"}},
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			o := parsed(t, args)
			g.Expect(o.validate()).To(Succeed())
			g.Expect(o.certificates.configurations).To(Equal(want))
		})
	}
}

// The AppProjects are those of Argo CD's namespace, if anybody wants to know them.
func TestProjectsNamespace(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "argocd",
		"--argocd-namespace openshift-gitops": "openshift-gitops",
		"--sync-windows=false --argocd-namespace openshift-gitops": "",
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			o := parsed(t, args)
			g.Expect(o.validate()).To(Succeed())
			g.Expect(o.gate.projects()).To(Equal(want))
		})
	}
}
