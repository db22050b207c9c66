// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Options are the flags of `stepgate-webhook serve`.
type Options struct {
	Kubeconfig string
	Rule
	Approvals    Approvals
	Addresses    Addresses
	Endpoints    Endpoints
	Certificates Certificates
	Client       Client
	Tracing      Tracing
	// Barrier has it prove what it knows by a write.
	Barrier bool
	// Ledger has it keep what its watches have seen.
	Ledger       bool
	VerifyCreate VerifyCreate
}

// Bind adds the flags.
func (o *Options) Bind(f *pflag.FlagSet) {
	kube.BindKubeconfig(f, &o.Kubeconfig)
	o.bind(f)
	o.Approvals.bind(f)
	o.Addresses.bind(f)
	o.Endpoints.bind(f)
	o.Certificates.bind(f)
	o.Client.bind(f)
	o.Tracing.bind(f)
	o.bindBarrier(f)
	o.bindLedger(f)
	o.VerifyCreate.bind(f)
}

// Validate says what is wrong with the flags: a command.UsageError.
func (o *Options) Validate() error {
	err := validate(&o.Rule, &o.Approvals, &o.Addresses, &o.Endpoints, &o.Certificates, &o.Client, &o.Tracing)
	if err != nil {
		return err
	}
	if o.Starts && !o.Gate.release {
		return command.Usage("--start needs --release")
	}
	if err := o.VerifyCreate.validate(o.Verify.Kinds()); err != nil {
		return err
	}
	if bool(o.VerifyCreate) && !o.Gate.release {
		return command.Usage("--verify-create needs --release: it creates what a sync waits for")
	}
	return o.oneWatch()
}

// validate says what is wrong with the first group of flags that has a mistake.
func validate(groups ...interface{ validate() error }) error {
	for _, group := range groups {
		if err := group.validate(); err != nil {
			return err
		}
	}
	return nil
}

// Gate decide which syncs are denied.
type Gate struct {
	mode                  string
	require               string
	pin                   string
	rollbacks             bool
	allowFailedOperations bool
	settling              time.Duration
	hold                  bool
	release               bool
	annotations           []string
	afterNamespaces       []string
	Namespaces            Namespaces
	SyncWindows           bool
	argocdNamespace       string
}

func (g *Gate) bind(f *pflag.FlagSet) {
	f.StringVar(&g.mode, "mode", "enforce",
		"enforce (deny early syncs) or audit (admit and record them); an ApplicationSet overrides it with the annotation "+
			""+settings.ModeAnnotation)
	f.StringVar(&g.require, "require", "revision",
		"when an Application of an earlier step is done: health, completed or revision; an ApplicationSet "+
			"overrides it with the annotation "+settings.RequireAnnotation)
	f.StringVar(&g.pin, "pin", "compared",
		"which revisions the mutating webhook writes into an operation that names none: compared (those that Argo CD last "+
			"compared the Application with) or candidate (or else the newest that the earlier steps have completed and every "+
			"condition of the step allows; was proven; with RollingSync it needs --start); the validating webhook denies an "+
			"automated operation without them; an ApplicationSet overrides it with the annotation "+
			settings.PinAnnotation)
	f.BoolVar(&g.rollbacks, "gate-rollbacks", false, "gate a rollback to an older history entry like any other sync")
	f.BoolVar(&g.allowFailedOperations, "allow-failed-operations", false,
		"count an Application of an earlier step as done if it is Healthy and Synced, even if its last sync failed")
	f.DurationVar(&g.settling, "spec-settling", policy.SettlingTime,
		"how long the ApplicationSet controller may take from one write of an Application to the next: a change of a spec "+
			"waits for that long after the last one, unless the end of its pass is seen before; 0 waits for none")
	f.BoolVar(&g.hold, "hold", true,
		"in enforce mode, leave an early sync out of the write of a controller, or of a program whose operation says that "+
			"it is automated, instead of denying the write")
	f.BoolVar(&g.release, "release", true,
		"in enforce mode, refresh an Application when its sync waits and may start, and those that hold up a sync only "+
			"because their last comparison is too old; needs the permission to patch Applications")
	f.BoolVar(&g.SyncWindows, "sync-windows", true,
		"an Application whose sync window is closed waits with its sync; needs the permission to watch the AppProjects of "+
			"--argocd-namespace, and without it every window counts as open. If false, stepgate looks at no sync window; "+
			"Argo CD keeps them all the same")
	f.StringVar(&g.argocdNamespace, "argocd-namespace", "argocd",
		"namespace in which Argo CD runs and has its AppProjects")
	f.StringSliceVar(&g.annotations, "allowed-annotations", settings.Annotations(),
		"annotations by which an ApplicationSet may change how it is gated; stepgate reports the others and ignores them")
	f.StringSliceVar(&g.afterNamespaces, "after-namespaces", nil,
		"namespaces that the annotation "+settings.AfterAnnotation+" may name beside its own (repeatable)")
	f.StringSliceVar((*[]string)(&g.Namespaces), "application-namespaces", nil,
		"namespaces that hold Applications: names, or patterns as Argo CD has them, like team-* or /^team-[a-z]+$/; with "+
			"names only, stepgate watches no other namespace; the webhook must be registered for no other (repeatable; "+
			"default: all)")
}

func (g *Gate) validate() error {
	if _, err := g.parse(); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Label(g.argocdNamespace); len(problems) > 0 {
		return command.Usage("--argocd-namespace: %q is not the name of a namespace", g.argocdNamespace)
	}
	return g.Namespaces.validate()
}

// ArgoCD is the namespace in which Argo CD runs.
func (g *Gate) ArgoCD() string { return g.argocdNamespace }

// Projects is the namespace whose AppProjects are watched; empty if none are.
func (g *Gate) Projects() string {
	if !g.SyncWindows {
		return ""
	}
	return g.argocdNamespace
}

func (g *Gate) parse() (c settings.Config, err error) {
	if c.Mode, err = settings.ParseMode(g.mode); err != nil || c.Mode == settings.Off {
		return c, command.Usage("--mode: %q is not one of enforce, audit", g.mode)
	}
	if c.Require, err = policy.ParseRequire(g.require); err != nil {
		return c, command.Usage("--require: %s", err)
	}
	if c.Pin, err = settings.ParsePin(g.pin); err != nil {
		return c, command.Usage("--pin: %s", err)
	}
	switch {
	case g.settling < 0:
		return c, command.Usage("--spec-settling: %s is negative", g.settling)
	case g.settling == 0:
		c.Settling = -1
	default:
		c.Settling = g.settling
	}
	for _, name := range g.annotations {
		if !slices.Contains(settings.Annotations(), name) {
			return c, command.Usage("--allowed-annotations: %q is not one of %s", name,
				strings.Join(settings.Annotations(), ", "))
		}
	}
	for _, name := range settings.Annotations() {
		if !slices.Contains(g.annotations, name) {
			c.IgnoredAnnotations = append(c.IgnoredAnnotations, name)
		}
	}
	for _, name := range g.afterNamespaces {
		if !g.Namespaces.Gated(name) {
			return c, command.Usage("--after-namespaces: %q is not among --application-namespaces: stepgate looks at no other",
				name)
		}
	}
	c.AfterNamespaces = g.afterNamespaces
	c.GateRollbacks, c.AllowFailedOperations, c.Hold, c.Release = g.rollbacks, g.allowFailedOperations, g.hold, g.release
	return c, nil
}

// Accounts name Argo CD's service accounts, and the users who may bypass the gate.
type Accounts struct {
	server         []string
	applicationSet []string
	bypassUsers    []string
}

func (a *Accounts) bind(f *pflag.FlagSet) {
	f.StringSliceVar(&a.server, "argocd-server-account", []string{
		"system:serviceaccount:argocd:argocd-server",
	}, "user name of argocd-server's service account; stepgate honours a bypass in a sync only from this account "+
		"(repeatable)")
	f.StringSliceVar(&a.applicationSet, "argocd-applicationset-account", []string{
		"system:serviceaccount:argocd:argocd-applicationset-controller",
	}, "user name of the ApplicationSet controller's service account, whose early operations stepgate holds; every "+
		"service account whose name ends in applicationset-controller counts, too (repeatable)")
	f.StringSliceVar(&a.bypassUsers, "bypass-user", nil,
		"Argo CD user who may bypass the gate with argocd app sync APP --info "+settings.BypassInfo+"=REASON (repeatable)")
}

func (a *Accounts) validate() error {
	return noneEmpty(
		names{"--argocd-server-account", a.server}, names{"--argocd-applicationset-account", a.applicationSet},
		names{"--bypass-user", a.bypassUsers},
	)
}

// names are the values of a repeatable flag.
type names struct {
	flag   string
	values []string
}

func noneEmpty(flags ...names) error {
	for _, f := range flags {
		if slices.Contains(f.values, "") {
			return command.Usage("%s: a name cannot be empty", f.flag)
		}
	}
	return nil
}
