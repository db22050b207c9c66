// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	o := &Options{}
	o.Bind(pflag.NewFlagSet("serve", pflag.ContinueOnError))
	g.Expect(*o).To(Equal(Options{
		Rule: Rule{Gate: Gate{mode: "enforce", require: "revision", pin: "compared", settling: 10 * time.Second, hold: true, release: true, annotations: settings.Annotations(), SyncWindows: true, argocdNamespace: "argocd"},
			Accounts: Accounts{
				server:         []string{"system:serviceaccount:argocd:argocd-server"},
				applicationSet: []string{"system:serviceaccount:argocd:argocd-applicationset-controller"},
			}},
		Addresses:    Addresses{Webhook: ":10250", ShutdownDelay: 10 * time.Second},
		Endpoints:    Endpoints{Metrics: ":8080", Probe: ":8081"},
		Certificates: Certificates{LeafDuration: 168 * time.Hour, CADuration: 8760 * time.Hour},
	}))
	config, err := o.Config()
	g.Expect(err).NotTo(HaveOccurred())
	compilesOnly(g, &config)
	g.Expect(config).To(Equal(settings.Config{
		Mode: settings.Enforce, Require: policy.RequireRevision,
		ServerAccounts: o.Accounts.server, ApplicationSetAccounts: o.Accounts.applicationSet,
		Settling: 10 * time.Second, Hold: true, Release: true,
	}), "the strictest, and nobody may bypass")
}

func TestConfigTakesEveryFlag(t *testing.T) {
	g := NewWithT(t)
	o := &Options{}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.Bind(flags)
	g.Expect(flags.Parse(strings.Fields("--mode audit --require health --gate-rollbacks --allow-failed-operations " +
		"--spec-settling 0 --hold=false --release=false --bypass-user alice,bob --bypass-user carol --allowed-annotations stepgate.io/require,stepgate.io/exclude" +
		" --verify-kinds jobs.v1.batch --verify-namespaces tests,ci --after-namespaces platform --approver alice --approver CN=bob,O=ops --approver-group sre --approve-four-eyes" +
		" --argocd-server-account s --argocd-applicationset-account a" +
		" --installation n/s --cert-host 10.0.0.1,::1 --metrics-bind-address 0 --health-probe-bind-address 0 --shutdown-delay 0s"))).To(Succeed())
	g.Expect(o.Validate()).To(Succeed())
	config, err := o.Config()
	g.Expect(err).NotTo(HaveOccurred())
	compilesOnly(g, &config, "jobs.batch")
	g.Expect(config).To(Equal(settings.Config{
		Mode: settings.Audit, Require: policy.RequireHealth, GateRollbacks: true, AllowFailedOperations: true, Settling: -1,
		ServerAccounts: []string{"s"}, ApplicationSetAccounts: []string{"a"}, BypassUsers: []string{"alice", "bob", "carol"},
		FourEyes:           true,
		IgnoredAnnotations: []string{"stepgate.io/mode", "stepgate.io/pin", "stepgate.io/bypass", "stepgate.io/pause", "stepgate.io/soak", "stepgate.io/approve", "stepgate.io/max-failures", "stepgate.io/verify", "stepgate.io/after", "stepgate.io/track"},
		AfterNamespaces:    []string{"platform"}, VerifyNamespaces: []string{"tests", "ci"},
	}))
	g.Expect(o.Approvals.Approvers).To(Equal(webhook.ApproverConfig{
		Users: []string{"alice", "CN=bob,O=ops"}, Groups: []string{"sre"},
	}))
}

// compilesOnly takes the Compiler of expressions out of a Config. It refuses what is not valid about these kinds, and
// looks at no other.
func compilesOnly(g *WithT, config *settings.Config, kinds ...string) {
	for _, kind := range []string{"jobs.batch", "pods"} {
		_, err := config.Expressions.Compile(schema.ParseGroupResource(kind), "not valid")
		g.Expect(err != nil).To(Equal(slices.Contains(kinds, kind)), kind)
	}
	config.Expressions = nil
}

// complete is a command line without a mistake.
const complete = "--installation stepgate/gate"

// parsed are the Options of a complete command line with more flags.
func parsed(t *testing.T, args string) *Options {
	o := &Options{}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.Bind(flags)
	NewWithT(t).Expect(flags.Parse(append(strings.Fields(complete), strings.Fields(args)...))).To(Succeed())
	return o
}

// All objects are named after the installation.
func TestInstallation(t *testing.T) {
	g := NewWithT(t)
	o := parsed(t, "")
	g.Expect(o.Validate()).To(Succeed())
	i := o.Installation
	g.Expect(i.Namespace() + " " + i.Name() + " " + i.Host()).To(Equal("stepgate gate gate.stepgate.svc"))
	for name, want := range map[string]types.NamespacedName{
		"gate-ca": i.CA(), "gate-start": i.Start(), "gate-barrier": i.Barrier(), "gate-notifications": i.Notifications(),
	} {
		g.Expect(want).To(Equal(types.NamespacedName{Namespace: "stepgate", Name: name}))
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
			g.Expect(o.Validate()).To(Succeed())
			g.Expect(o.Gate.Projects()).To(Equal(want))
		})
	}
}

// The reporter needs somebody to report to, and nothing of the webhook.
func TestReporter(t *testing.T) {
	for args, want := range map[string]string{
		"--notifications": "",
		"--ui-bind-address :8082 --ui-token-file /ui/token":              "",
		"--ui-bind-address :8082 --ui-token-file t --start --mode audit": "",
		"--notifications --approve-four-eyes":                            "",
		"":                                                               "--notifications or --ui-bind-address is needed: there is nobody to report to",
		"--ui-bind-address :8082 --ui-token-file t --ui-act-token-file a": "",
		"--notifications --ui-act-token-file a":                           "--ui-act-token-file goes with --ui-bind-address only",
		"--ui-bind-address :8082":                                         "--ui-bind-address needs --ui-token-file",
		"--mode loud":                                                     `--mode: "loud" is not one of enforce, audit`,
		"--metrics-bind-address local":                                    `--metrics-bind-address: "local" is not HOST:PORT or :PORT`,
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			r, flags := &Reporter{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)
			r.Bind(flags)
			g.Expect(flags.Parse(strings.Fields(complete + " " + args))).To(Succeed())
			if want != "" {
				g.Expect(r.Validate()).To(MatchError(want))
				return
			}
			g.Expect(r.Validate()).To(Succeed())
			g.Expect(r.Gate.ArgoCD()).To(Equal("argocd"))
			for _, own := range []string{"webhook-bind-address", "cert-dir", "approver", "verify-create", "write-barrier",
				"client-ca-file", "tracing-endpoint", "shutdown-delay"} {
				g.Expect(flags.Lookup(own)).To(BeNil(), own)
			}
		})
	}
}
