package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
)

// options are the flags of `stepgate serve`.
type options struct {
	kubeconfig string

	mode                  string
	require               string
	gateRollbacks         bool
	allowFailedOperations bool
	refreshStaleSiblings  bool
	serverAccounts        []string
	controllerAccounts    []string
	appSetAccounts        []string
	bypassUsers           []string
	namespaces            []string

	webhookAddress string
	metricsAddress string
	probeAddress   string
	shutdownDelay  time.Duration

	certMode         string
	configurations   certs.Configurations
	certDir          string
	certSecret       string
	certDNSNames     []string
	certIPAddresses  []net.IP
	certLeafDuration time.Duration
	certCADuration   time.Duration
}

func (o *options) bind(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; the Pod's own service account when empty")

	f.StringVar(&o.mode, "mode", "enforce", "enforce (reject) or audit (admit and record); an ApplicationSet's annotation "+webhook.ModeAnnotation+" wins")
	f.StringVar(&o.require, "require", "revision", "what an earlier Application needs to be done: health, synced or revision; an ApplicationSet's annotation "+webhook.RequireAnnotation+" wins")
	f.BoolVar(&o.gateRollbacks, "gate-rollbacks", false, "gate rollbacks to an older entry of the history like any other sync")
	f.BoolVar(&o.allowFailedOperations, "allow-failed-operations", false, "count an earlier Application as done although its last sync failed, if it is Healthy and Synced")
	f.BoolVar(&o.refreshStaleSiblings, "refresh-stale-siblings", true, "have Argo CD compare the Applications again that hold up a sync only because they were compared too early; needs patch on Applications")
	f.StringSliceVar(&o.serverAccounts, "argocd-server-account", []string{"system:serviceaccount:argocd:argocd-server"}, "user name of argocd-server's service account; only from it a bypass in a sync is honoured (repeatable)")
	f.StringSliceVar(&o.controllerAccounts, "argocd-controller-account", []string{"system:serviceaccount:argocd:argocd-application-controller"}, "user name of the application controller's service account, for metrics only (repeatable)")
	f.StringSliceVar(&o.appSetAccounts, "argocd-applicationset-account", []string{"system:serviceaccount:argocd:argocd-applicationset-controller"}, "user name of the ApplicationSet controller's service account; it is held back when it repeats a denied write without a pause (repeatable)")
	f.StringSliceVar(&o.bypassUsers, "bypass-user", nil, "Argo CD user who may bypass the gate with argocd app sync APP --info "+webhook.BypassInfo+"=REASON (repeatable)")
	f.StringSliceVar(&o.namespaces, "application-namespaces", nil, "namespaces that hold Applications; no other is watched, and the webhook must be registered for no other (repeatable; default: all)")

	f.StringVar(&o.webhookAddress, "webhook-bind-address", ":10250", "address of the webhook (HTTPS)")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics (HTTP); 0 switches it off")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz (HTTP); 0 switches it off")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay", 10*time.Second, "how long to go on serving, not ready, after SIGTERM")

	f.StringVar(&o.certMode, "cert-mode", "self", "self (own CA in a Secret, renewed and published by stepgate) or files (a mounted Secret)")
	f.StringVar(&o.certDir, "cert-dir", "", "folder with tls.crt and tls.key, for --cert-mode files")
	f.StringVar(&o.certSecret, "cert-secret", "", "NAMESPACE/NAME of the Secret that holds the CA, for --cert-mode self")
	f.StringSliceVar(&o.certDNSNames, "cert-dns-name", nil, "DNS name in the certificate, for --cert-mode self (repeatable)")
	f.IPSliceVar(&o.certIPAddresses, "cert-ip-address", nil, "IP address in the certificate, for --cert-mode self (repeatable)")
	f.DurationVar(&o.certLeafDuration, "cert-leaf-duration", 7*24*time.Hour, "lifetime of the serving certificate, which is replaced after two thirds of it, for --cert-mode self")
	f.DurationVar(&o.certCADuration, "cert-ca-duration", 365*24*time.Hour, "lifetime of the CA, which is replaced after two thirds of it, for --cert-mode self; at least 1m")
	f.StringSliceVar(&o.configurations.Validating, "webhook-configuration", nil, "name of a ValidatingWebhookConfiguration; stepgate is ready when its caBundle verifies the certificate, and writes that caBundle with --cert-mode self (repeatable)")
	f.StringSliceVar(&o.configurations.Mutating, "mutating-webhook-configuration", nil, "name of a MutatingWebhookConfiguration; used like --webhook-configuration (repeatable)")
}

// config reads what the gate judges by.
func (o *options) config() (webhook.Config, error) {
	mode, err := webhook.ParseMode(o.mode)
	if err != nil || mode == webhook.Off {
		return webhook.Config{}, &usageError{fmt.Sprintf("--mode: %q is not one of enforce, audit", o.mode)}
	}
	require, err := policy.ParseRequire(o.require)
	if err != nil {
		return webhook.Config{}, &usageError{"--require: " + err.Error()}
	}
	return webhook.Config{
		Mode: mode, Require: require, GateRollbacks: o.gateRollbacks, AllowFailedOperations: o.allowFailedOperations,
		ServerAccounts: o.serverAccounts, ControllerAccounts: o.controllerAccounts, ApplicationSetAccounts: o.appSetAccounts,
		BypassUsers: o.bypassUsers, RefreshStaleSiblings: o.refreshStaleSiblings,
	}, nil
}

// validate says what is wrong with the flags that config does not read.
func (o *options) validate() error {
	for _, f := range []struct{ flag, address string }{
		{"--webhook-bind-address", o.webhookAddress}, {"--metrics-bind-address", o.metricsAddress}, {"--health-probe-bind-address", o.probeAddress},
	} {
		off := f.address == "0" && f.flag != "--webhook-bind-address"
		if !off && !isAddress(f.address) {
			return &usageError{fmt.Sprintf("%s: %q is not HOST:PORT or :PORT", f.flag, f.address)}
		}
	}
	if o.shutdownDelay < 0 {
		return &usageError{"--shutdown-delay: it cannot be negative"}
	}
	for _, f := range []struct {
		flag  string
		names []string
	}{
		{"--argocd-server-account", o.serverAccounts}, {"--argocd-controller-account", o.controllerAccounts},
		{"--argocd-applicationset-account", o.appSetAccounts}, {"--bypass-user", o.bypassUsers},
	} {
		if slices.Contains(f.names, "") {
			return &usageError{f.flag + ": a name cannot be empty"}
		}
	}
	if err := validNamespaces(o.namespaces); err != nil {
		return err
	}
	if err := validConfigurations(o.configurations); err != nil {
		return err
	}
	switch o.certMode {
	case "self":
		return o.validateSelf()
	case "files":
		if o.certDir == "" {
			return &usageError{"--cert-mode files needs --cert-dir"}
		}
	default:
		return &usageError{fmt.Sprintf("--cert-mode: %q is not one of self, files", o.certMode)}
	}
	return nil
}

// shortestCA leaves a third of the CA's life for the others to learn of the next one: it is looked at every 10 s, and its
// leaf waits 5 s for the API servers.
const shortestCA = time.Minute

func (o *options) validateSelf() error {
	if _, err := o.secretName(); err != nil {
		return err
	}
	switch {
	case len(o.certDNSNames)+len(o.certIPAddresses) == 0:
		return &usageError{"--cert-mode self needs --cert-dns-name or --cert-ip-address: the name by which the API server calls the webhook"}
	case o.certDir != "":
		return &usageError{"--cert-dir goes with --cert-mode files only"}
	case o.certLeafDuration < time.Second:
		return &usageError{"--cert-leaf-duration: it cannot be shorter than 1s"}
	case o.certCADuration < shortestCA:
		return &usageError{fmt.Sprintf("--cert-ca-duration: it cannot be shorter than %s", shortestCA)}
	case o.certCADuration <= o.certLeafDuration:
		return &usageError{fmt.Sprintf("--cert-ca-duration: %s is not longer than --cert-leaf-duration, %s", o.certCADuration, o.certLeafDuration)}
	}
	return nil
}

func validNamespaces(names []string) error {
	for i, n := range names {
		if len(validation.IsDNS1123Label(n)) > 0 {
			return &usageError{fmt.Sprintf("--application-namespaces: %q is not the name of a namespace; patterns are not understood", n)}
		}
		if slices.Contains(names[:i], n) {
			return &usageError{fmt.Sprintf("--application-namespaces: %q is there twice", n)}
		}
	}
	return nil
}

func validConfigurations(c certs.Configurations) error {
	for _, f := range []struct {
		flag  string
		names []string
	}{{"--webhook-configuration", c.Validating}, {"--mutating-webhook-configuration", c.Mutating}} {
		for i, n := range f.names {
			if n == "" {
				return &usageError{f.flag + ": a name cannot be empty"}
			}
			if slices.Contains(f.names[:i], n) {
				return &usageError{fmt.Sprintf("%s: %q is there twice", f.flag, n)}
			}
		}
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

func (o *options) secretName() (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(o.certSecret, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, &usageError{fmt.Sprintf("--cert-secret: %q is not NAMESPACE/NAME (--cert-mode self needs it)", o.certSecret)}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
