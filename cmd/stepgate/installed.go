package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

// installedSelector selects the Deployments of the chart.
const installedSelector = "app.kubernetes.io/part-of=stepgate,app.kubernetes.io/component=webhook"

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
	// kinds are the kinds of objects that it reads as evidence.
	kinds evidence.Kinds
	// exists says that an installation was found, and unready that none of its replicas is ready, unless that is empty.
	exists  bool
	unready string
}

// installation looks for the installation that gates a namespace, and reads its flags. Where there is none, or it
// cannot be read, the defaults of `stepgate-webhook serve` count.
func installation(ctx context.Context, clientset kubernetes.Interface, namespace string) installed {
	gate, err := readInstallation(ctx, clientset, namespace)
	if err != nil {
		return defaults("the default settings of stepgate, because its Deployment cannot be read: " + err.Error())
	}
	return gate
}

// readInstallation is installation, with an error if no Deployment can be read. It also says whether there is a gate at
// all, as the API server sees it.
func readInstallation(ctx context.Context, clientset kubernetes.Interface, namespace string) (installed, error) {
	gate, err := deployed(ctx, clientset, namespace)
	asked, why := registered(ctx, clientset, namespace)
	switch {
	case why != "":
		gate.config.NoGate = why
	case gate.unready == "" || asked == nil:
	case ptr.Deref(asked.FailurePolicy, admissionv1.Fail) == admissionv1.Ignore:
		gate.config.NoGate = gate.unready + ", and the failure policy is Ignore"
	default:
		gate.config.GateProblem = "every sync is refused: " + gate.unready + "; see stepgate doctor --emergency"
	}
	return gate, err
}

// registered is the webhook by which the API server asks stepgate about a namespace, or about any if that is empty. Where
// there is none, why says so. Both are empty if that cannot be read.
func registered(
	ctx context.Context, clientset kubernetes.Interface, namespace string,
) (asked *admissionv1.ValidatingWebhook, why string) {
	list, err := clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, ""
	}
	set := labels.Set{}
	if namespace != "" {
		of, err := clientset.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			return nil, ""
		}
		set = of.Labels
	}
	exists := false
	for i := range list.Items {
		for j := range list.Items[i].Webhooks {
			w := &list.Items[i].Webhooks[j]
			if w.Name != doctor.ValidatingWebhook {
				continue
			}
			exists = true
			selector, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
			if err != nil || namespace == "" || selector.Matches(set) {
				return w, ""
			}
		}
	}
	switch {
	case !exists:
		return nil, "the API server calls no stepgate: no ValidatingWebhookConfiguration has its webhook; see stepgate doctor"
	case doctor.SwitchedOff(set):
		return nil, fmt.Sprintf("namespace %s has the label %s", namespace, doctor.EmergencySwitch)
	}
	return nil, fmt.Sprintf("the API server does not ask stepgate about namespace %s: the namespaceSelector of its "+
		"webhook leaves it out", namespace)
}

// deployed reads the flags of the Deployment that gates a namespace.
func deployed(ctx context.Context, clientset kubernetes.Interface, namespace string) (installed, error) {
	list, err := clientset.AppsV1().Deployments("").List(ctx, metav1.ListOptions{LabelSelector: installedSelector})
	if err != nil {
		return installed{}, err
	}
	for i := range list.Items {
		d := &list.Items[i]
		o, found := flagsOf(d)
		if !found || namespace != "" && !o.Gate.Namespaces.Gated(namespace) {
			continue
		}
		config, err := o.Config()
		if err != nil {
			return defaults(fmt.Sprintf("the default settings of stepgate, because those of Deployment %s/%s are not valid: %s",
				d.Namespace, d.Name, err)), nil
		}
		gate := installed{
			config: config, projects: o.Gate.Projects(), argocd: o.Gate.ArgoCD(), kinds: o.Verify.Kinds(),
			by: fmt.Sprintf("the settings of Deployment %s/%s", d.Namespace, d.Name), exists: true,
		}
		if config.MaxUpdate {
			gate.slots = o.Installation.Namespace()
		}
		if s := d.Status; s.ObservedGeneration > 0 && s.Replicas > 0 && s.ReadyReplicas == 0 {
			gate.unready = fmt.Sprintf("no replica of Deployment %s/%s is ready", d.Namespace, d.Name)
		}
		return gate, nil
	}
	return defaults("the default settings of stepgate, because no installation was found"), nil
}

func defaults(by string) installed {
	o := &flags.Options{}
	o.Bind(pflag.NewFlagSet("", pflag.ContinueOnError))
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
