package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// options are the flags of `stepgate serve`.
type options struct {
	kubeconfig   string
	gate         gateFlags
	accounts     accountFlags
	approvals    approvalFlags
	addresses    addressFlags
	certificates certificateFlags
	client       clientFlags
	tracing      tracingFlags
	barrier      barrierFlags
}

func (o *options) bind(f *pflag.FlagSet) {
	bindKubeconfig(f, &o.kubeconfig)
	o.gate.bind(f)
	o.accounts.bind(f)
	o.approvals.bind(f)
	o.addresses.bind(f)
	o.certificates.bind(f)
	o.client.bind(f)
	o.tracing.bind(f)
	o.barrier.bind(f)
}

// validate says what is wrong with the flags.
func (o *options) validate() error {
	for _, group := range []interface{ validate() error }{&o.gate, &o.accounts, &o.approvals, &o.addresses, &o.certificates, &o.client, &o.tracing, &o.barrier} {
		if err := group.validate(); err != nil {
			return err
		}
	}
	return o.oneWatch()
}

// config is the part of the valid flags that the gate decides by.
func (o *options) config() (settings.Config, error) {
	config, err := o.gate.parse()
	if err != nil {
		return settings.Config{}, err
	}
	config.ServerAccounts, config.ControllerAccounts = o.accounts.server, o.accounts.controller
	config.ApplicationSetAccounts, config.BypassUsers = o.accounts.applicationSet, o.accounts.bypassUsers
	config.FourEyes = o.approvals.fourEyes
	return config, nil
}

// gateFlags decide which syncs are denied.
type gateFlags struct {
	mode                  string
	require               string
	pin                   string
	rollbacks             bool
	allowFailedOperations bool
	settling              time.Duration
	hold                  bool
	release               bool
	annotations           []string
	namespaces            namespaces
	syncWindows           bool
	argocdNamespace       string
}

func (g *gateFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&g.mode, "mode", "enforce", "enforce (deny early syncs) or audit (admit and record them); an ApplicationSet overrides it with the annotation "+settings.ModeAnnotation)
	f.StringVar(&g.require, "require", "revision", "when an Application of an earlier step is done: health, synced, completed or revision; an ApplicationSet overrides it with the annotation "+settings.RequireAnnotation)
	f.StringVar(&g.pin, "pin", "compared", "which revisions the mutating webhook writes into an operation that names none: compared (those that Argo CD last compared the Application with), proven (the newest that all earlier steps have completed) or off; the validating webhook denies an automated operation without them")
	f.BoolVar(&g.rollbacks, "gate-rollbacks", false, "gate a rollback to an older history entry like any other sync")
	f.BoolVar(&g.allowFailedOperations, "allow-failed-operations", false, "count an Application of an earlier step as done if it is Healthy and Synced, even if its last sync failed")
	f.DurationVar(&g.settling, "spec-settling", policy.SettlingTime, "how long the ApplicationSet controller may take from one write of an Application to the next: a change of a spec waits for that long after the last one; 0 waits for none")
	f.BoolVar(&g.hold, "hold", true, "in enforce mode, admit an early write of the ApplicationSet controller without its operation, instead of denying it")
	f.BoolVar(&g.release, "release", true, "in enforce mode, refresh an Application when its sync waits and may start, and those that hold up a sync only because their last comparison is too old; needs the permission to patch Applications")
	f.BoolVar(&g.syncWindows, "sync-windows", true, "an Application whose sync window is closed waits with its sync; needs the permission to watch the AppProjects of --argocd-namespace, and without it every window counts as open. If false, stepgate looks at no sync window; Argo CD keeps them all the same")
	f.StringVar(&g.argocdNamespace, "argocd-namespace", "argocd", "namespace in which Argo CD runs and has its AppProjects, for --sync-windows")
	f.StringSliceVar(&g.annotations, "allowed-annotations", settings.Annotations(), "annotations by which an ApplicationSet may change how it is gated; stepgate reports the others and ignores them")
	f.StringSliceVar((*[]string)(&g.namespaces), "application-namespaces", nil, "namespaces that hold Applications: names, or patterns as Argo CD has them, like team-* or /^team-[a-z]+$/; with names only, stepgate watches no other namespace; the webhook must be registered for no other (repeatable; default: all)")
}

func (g *gateFlags) validate() error {
	if _, err := g.parse(); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Label(g.argocdNamespace); len(problems) > 0 {
		return &usageError{fmt.Sprintf("--argocd-namespace: %q is not the name of a namespace", g.argocdNamespace)}
	}
	return g.namespaces.validate()
}

// projects is the namespace whose AppProjects are watched; empty if none are.
func (g *gateFlags) projects() string {
	if !g.syncWindows {
		return ""
	}
	return g.argocdNamespace
}

func (g *gateFlags) parse() (c settings.Config, err error) {
	if c.Mode, err = settings.ParseMode(g.mode); err != nil || c.Mode == settings.Off {
		return c, &usageError{fmt.Sprintf("--mode: %q is not one of enforce, audit", g.mode)}
	}
	if c.Require, err = policy.ParseRequire(g.require); err != nil {
		return c, &usageError{"--require: " + err.Error()}
	}
	if c.Pin, err = settings.ParsePin(g.pin); err != nil {
		return c, &usageError{"--pin: " + err.Error()}
	}
	switch {
	case g.settling < 0:
		return c, &usageError{fmt.Sprintf("--spec-settling: %s is negative", g.settling)}
	case g.settling == 0:
		c.Settling = -1
	default:
		c.Settling = g.settling
	}
	for _, name := range g.annotations {
		if !slices.Contains(settings.Annotations(), name) {
			return c, &usageError{fmt.Sprintf("--allowed-annotations: %q is not one of %s", name, strings.Join(settings.Annotations(), ", "))}
		}
	}
	for _, name := range settings.Annotations() {
		if !slices.Contains(g.annotations, name) {
			c.IgnoredAnnotations = append(c.IgnoredAnnotations, name)
		}
	}
	c.GateRollbacks, c.AllowFailedOperations, c.Hold, c.Release = g.rollbacks, g.allowFailedOperations, g.hold, g.release
	return c, nil
}

// accountFlags name Argo CD's service accounts, and the users who may bypass the gate.
type accountFlags struct {
	server         []string
	controller     []string
	applicationSet []string
	bypassUsers    []string
}

func (a *accountFlags) bind(f *pflag.FlagSet) {
	f.StringSliceVar(&a.server, "argocd-server-account", []string{"system:serviceaccount:argocd:argocd-server"}, "user name of argocd-server's service account; stepgate honours a bypass in a sync only from this account (repeatable)")
	f.StringSliceVar(&a.controller, "argocd-controller-account", []string{"system:serviceaccount:argocd:argocd-application-controller"}, "user name of the application controller's service account, for metrics only (repeatable)")
	f.StringSliceVar(&a.applicationSet, "argocd-applicationset-account", []string{"system:serviceaccount:argocd:argocd-applicationset-controller"}, "user name of the ApplicationSet controller's service account, whose early operations stepgate holds; every service account whose name ends in applicationset-controller counts, too (repeatable)")
	f.StringSliceVar(&a.bypassUsers, "bypass-user", nil, "Argo CD user who may bypass the gate with argocd app sync APP --info "+settings.BypassInfo+"=REASON (repeatable)")
}

func (a *accountFlags) validate() error {
	return noneEmpty(
		names{"--argocd-server-account", a.server}, names{"--argocd-controller-account", a.controller},
		names{"--argocd-applicationset-account", a.applicationSet}, names{"--bypass-user", a.bypassUsers},
	)
}

// addressFlags say where stepgate listens, and for how long.
type addressFlags struct {
	webhook       string
	metrics       string
	probe         string
	profiling     bool
	shutdownDelay time.Duration
}

func (a *addressFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&a.webhook, "webhook-bind-address", ":10250", "address of the webhook (HTTPS)")
	f.StringVar(&a.metrics, "metrics-bind-address", ":8080", "address of /metrics (HTTP); 0 disables it")
	f.BoolVar(&a.profiling, "profiling", false, "serve Go's profiles at /debug/pprof/ of the address of /metrics, to everybody who reaches it")
	f.StringVar(&a.probe, "health-probe-bind-address", ":8081", "address of /healthz and /readyz (HTTP); 0 disables it")
	f.DurationVar(&a.shutdownDelay, "shutdown-delay", 10*time.Second, "how long stepgate still serves, and reports that it is not ready, after SIGTERM")
}

func (a *addressFlags) validate() error {
	for _, f := range []struct {
		flag, address string
		optional      bool
	}{
		{"--webhook-bind-address", a.webhook, false},
		{"--metrics-bind-address", a.metrics, true},
		{"--health-probe-bind-address", a.probe, true},
	} {
		if disabled := f.optional && f.address == disabledAddress; !disabled && !isAddress(f.address) {
			return &usageError{fmt.Sprintf("%s: %q is not HOST:PORT or :PORT", f.flag, f.address)}
		}
	}
	if a.shutdownDelay < 0 {
		return &usageError{"--shutdown-delay: it cannot be negative"}
	}
	return nil
}

func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// names are the values of a repeatable flag.
type names struct {
	flag   string
	values []string
}

func noneEmpty(flags ...names) error {
	for _, f := range flags {
		if slices.Contains(f.values, "") {
			return &usageError{f.flag + ": a name cannot be empty"}
		}
	}
	return nil
}
