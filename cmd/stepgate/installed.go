// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/settings"
)

// installed is how the gate of a namespace is configured.
type installed struct {
	config settings.Config
	// by says where the configuration is from.
	by string
	// projects is the namespace of the AppProjects whose sync windows it looks at; empty if it looks at none.
	projects string
	// argocd is the namespace of Argo CD.
	argocd string
	// slots is the namespace in which it keeps the slots of steps; empty if it keeps none.
	slots string
	// namespace is its own; empty if none was found. ledger says that it keeps a ledger there.
	namespace string
	ledger    bool
	// kinds are the kinds of objects that it reads as evidence.
	kinds evidence.Kinds
	// exists says that an installation was found.
	exists bool
	// deployment is its Deployment, and gates reports whether that gates a namespace.
	deployment *appsv1.Deployment
	gates      func(namespace string) bool
}

// gates are the installations of a cluster, each read once.
type gates struct {
	all []*installed
	// other judges the namespaces that no installation gates. first is the first installation, or else other.
	other, first *installed
}

// installation looks for the installation that gates a namespace, and reads its flags. Where there is none, or it
// cannot be read, the defaults of `stepgate-webhook serve` count.
func installation(ctx context.Context, clientset kubernetes.Interface, namespace string) installed {
	found, _ := readGates(ctx, clientset, namespace) // where its settings are from says so
	return *found.of(namespace)
}

// readGates reads the installations that gate a namespace, or all of them if that is empty, and whether they answer. The
// error says that no Deployment can be read.
func readGates(ctx context.Context, clientset kubernetes.Interface, namespace string) (*gates, error) {
	facts, err := presence.Read(ctx, clientset, namespace)
	by := "the default settings of stepgate, because no installation was found"
	if err != nil {
		by = "the default settings of stepgate, because its Deployment cannot be read: " + err.Error()
	}
	other := defaults(by)
	g := &gates{other: &other, first: &other}
	for i := range facts.Deployments {
		if one := configured(&facts.Deployments[i]); one != nil {
			one.config.Presence = func(namespace string) settings.Presence { return facts.Of(namespace, one.deployment) }
			g.all = append(g.all, one)
		}
	}
	other.config.Presence = func(namespace string) settings.Presence { return g.without(facts, namespace) }
	if len(g.all) > 0 {
		g.first = g.all[0]
	}
	return g, err
}

// without says whether a gate answers for a namespace that no installation gates by its flags.
func (g *gates) without(facts *presence.Facts, namespace string) settings.Presence {
	p, asked := facts.Of(namespace, nil), facts.Asked(namespace)
	if p != (settings.Presence{}) || asked == nil || asked.ClientConfig.Service == nil {
		return p
	}
	service := asked.ClientConfig.Service
	for _, one := range g.all {
		if d := one.deployment; d.Namespace == service.Namespace && d.Name == service.Name {
			p.NoGate = fmt.Sprintf("Deployment %s/%s does not gate namespace %s: see its --application-namespaces",
				d.Namespace, d.Name, namespace)
		}
	}
	return p
}

// of is the installation that gates a namespace; an empty one stands for all.
func (g *gates) of(namespace string) *installed {
	if namespace == "" {
		return g.first
	}
	for _, one := range g.all {
		if one.gates(namespace) {
			return one
		}
	}
	return g.other
}

// configured reads the flags of a Deployment; nil if it runs no gate.
func configured(d *appsv1.Deployment) *installed {
	o, found := flagsOf(d)
	if !found {
		return nil
	}
	config, err := o.Config()
	if err != nil {
		gate := defaults(fmt.Sprintf("the default settings of stepgate, because those of Deployment %s/%s are not valid: %s",
			d.Namespace, d.Name, err))
		gate.deployment, gate.gates = d, o.Gate.Namespaces.Gated
		gate.namespace, gate.ledger = o.Installation.Namespace(), o.Ledger
		return &gate
	}
	gate := &installed{
		config: config, projects: o.Gate.Projects(), argocd: o.Gate.ArgoCD(), kinds: o.Verify.Kinds(),
		by: fmt.Sprintf("the settings of Deployment %s/%s", d.Namespace, d.Name), exists: true,
		deployment: d, gates: o.Gate.Namespaces.Gated, namespace: o.Installation.Namespace(), ledger: o.Ledger,
	}
	if config.MaxUpdate {
		gate.slots = o.Installation.Namespace()
	}
	return gate
}

func defaults(by string) installed {
	o := &flags.Options{}
	o.Bind(pflag.NewFlagSet("", pflag.ContinueOnError))
	o.Waves = true // whoever asks without an installation wants to see what one would do
	config, err := o.Config()
	if err != nil {
		return installed{by: err.Error()} // the strictest configuration
	}
	config.Expressions = expression.NewCompiler(expression.AnyKind)
	return installed{config: config, projects: o.Gate.Projects(), argocd: o.Gate.ArgoCD(), by: by}
}

// flagsOf parses the arguments of the container that runs `stepgate-webhook serve`.
func flagsOf(d *appsv1.Deployment) (*flags.Options, bool) {
	for _, container := range d.Spec.Template.Spec.Containers {
		at := slices.Index(container.Args, "serve")
		if at < 0 {
			continue
		}
		o := &flags.Options{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.ParseErrorsAllowlist.UnknownFlags = true // of another version
		o.Bind(f)
		flags.BindLog(f, &zap.Options{})
		return o, f.Parse(container.Args[at+1:]) == nil
	}
	return nil, false
}

// log is what the installation keeps of the rollouts of an ApplicationSet.
func (i *installed) log(ctx context.Context, clientset kubernetes.Interface, set types.UID) (*ledger.Log, error) {
	switch {
	case i.namespace == "":
		return nil, history.ErrNoGate
	case !i.ledger:
		return nil, history.ErrOff
	}
	return history.Read(ctx, clientset, i.namespace, set)
}
