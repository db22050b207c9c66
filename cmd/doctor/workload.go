// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// workload checks what runs.
func (f *Facts) workload(r *Installation) []Check {
	return in(r.subject(), "Running", f.version(r), r.replicas(), r.endpoints(), r.budget(), r.mode(), f.kept(r),
		r.callers(), f.lists(r))
}

// version compares what is installed with this command line.
func (f *Facts) version(r *Installation) Check {
	const name = "version"
	switch {
	case errors.IsNotFound(r.Deployment.Err):
		return problem(name, "The release has no Deployment: nothing answers the API server.").do("Install the chart "+
			"again, or remove what is left.",
			"kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration "+r.Name).by(r.upgrade())
	case r.Deployment.Err != nil:
		return notRead(name, "stepgate's Deployment", r.Deployment.Err)
	}
	installed := imageVersion(containerOf(&r.Deployment.Value.Spec.Template, "stepgate"))
	mine := strings.TrimPrefix(f.Version, "v")
	switch {
	case installed == "":
		return ok(name, "An image without a version; this command line is %s.", f.Version)
	case !strings.HasPrefix(f.Version, "v") && !startsWithDigit(f.Version):
		return ok(name, "%s; this command line is a build without a version.", installed)
	case strings.TrimPrefix(installed, "v") != mine:
		return warning(name, "%s, and this command line is %s: it expects the chart of its own version.", installed,
			f.Version).do("Use the command line of the version that is installed.")
	}
	return ok(name, "%s, like this command line.", installed)
}

func startsWithDigit(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

// containerOf is the container of that name, else the first one.
func containerOf(template *corev1.PodTemplateSpec, name string) *corev1.Container {
	all := template.Spec.Containers
	if len(all) == 0 {
		return &corev1.Container{}
	}
	return &all[max(0, slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name }))]
}

// imageVersion is the tag of an image, or "" where it has none.
func imageVersion(c *corev1.Container) string {
	image, _, _ := strings.Cut(c.Image, "@")
	repository := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(repository, ":")
	return tag
}

// replicas compares the replicas that are ready with those that are wanted.
func (r *Installation) replicas() Check {
	const name = "replicas"
	if r.Deployment.Err != nil {
		return noDeployment(name, r.Deployment.Err)
	}
	wanted, ready := int32(1), r.Deployment.Value.Status.ReadyReplicas
	if n := r.Deployment.Value.Spec.Replicas; n != nil {
		wanted = *n
	}
	look := []string{
		fmt.Sprintf("kubectl -n %s get pods -l app.kubernetes.io/instance=%s", r.namespace(), r.helm()),
		fmt.Sprintf("kubectl -n %s logs -l app.kubernetes.io/instance=%s --tail=20", r.namespace(), r.helm()),
	}
	switch {
	case wanted == 0:
		return problem(name, "The Deployment is scaled to 0: nothing answers the API server.").do("",
			fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", r.namespace(), r.Name))
	case ready == 0:
		return problem(name, "None of %d is ready: nothing answers the API server.%s", wanted,
			r.notReady()).do("Look at the Pods and at their log.", look...)
	case ready < wanted:
		return warning(name, "%d of %d are ready.%s", ready, wanted, r.notReady()).do("Look at the Pods and at their log.",
			look...)
	case wanted == 1:
		return warning(name, "There is only one: while it restarts, the failure policy decides.").
			by(r.upgrade("replicaCount=2"))
	}
	return ok(name, "%d of %d are ready.", ready, wanted)
}

// unsettled is a check that needs the arguments of the Deployment, where they are not known.
func (r *Installation) unsettled(name string) Check {
	switch {
	case errors.IsNotFound(r.Deployment.Err):
		return unknown(name, "Not checked: the release has no Deployment, whose arguments say what is right.").do(
			"Repair the check \"version\" first.",
		)
	case r.Deployment.Err != nil:
		return notRead(name, "stepgate's Deployment", r.Deployment.Err)
	}
	return unknown(name, "Not checked: the arguments of the Deployment are none that this version of stepgate-webhook "+
		"serve has.").do("Use the command line of the version that is installed.")
}

// noDeployment is a check that needs a Deployment, and has none.
func noDeployment(name string, err error) Check {
	if errors.IsNotFound(err) {
		return skipped(name, "The release has no Deployment.")
	}
	return notRead(name, "stepgate's Deployment", err)
}

// notReady says why the first Pod that is not ready is not, as far as the API server knows.
func (r *Installation) notReady() string {
	for _, p := range r.Pods.Value {
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; !s.Ready && w != nil && w.Reason != "" {
				return fmt.Sprintf(" Pod %s: %s.", p.Name, oneLine(w.Reason+" "+w.Message))
			}
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf(" Pod %s: %s.", p.Name, oneLine(c.Message))
			}
		}
	}
	return ""
}

// endpoints says whether the Service that the API server calls has somewhere to send to.
func (r *Installation) endpoints() Check {
	const name = "endpoints"
	w := r.registrations()
	if len(w) == 0 {
		return skipped(name, "There is no webhook.")
	}
	service := w[0].Webhook.ClientConfig.Service
	if service == nil {
		return skipped(name, "The API server calls %s and no Service.", w[0].host())
	}
	if r.Slices.Err != nil {
		return notRead(name, "the EndpointSlices", r.Slices.Err)
	}
	ready := 0
	for _, s := range r.Slices.Value {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
	}
	if ready == 0 {
		return problem(name, "Service %s/%s has no ready endpoint: every call of the API server fails.", service.Namespace,
			service.Name).
			do("Look at the Pods, and whether the Service selects them.",
				fmt.Sprintf("kubectl -n %s get endpointslices,pods -o wide", service.Namespace))
	}
	return ok(name, "Service %s has %s.", service.Name, count(ready, "ready endpoint", "ready endpoints"))
}

// budget says whether a drain of nodes can take all replicas away at once.
func (r *Installation) budget() Check {
	const name = "disruption budget"
	switch {
	case r.Deployment.Err != nil:
		return noDeployment(name, r.Deployment.Err)
	case r.Budgets.Err != nil:
		return notRead(name, "the PodDisruptionBudgets", r.Budgets.Err)
	case single(r.Deployment.Value):
		return skipped(name, "With one replica it would block every drain of its node.")
	}
	pod := labels.Set(r.Deployment.Value.Spec.Template.Labels)
	for i := range r.Budgets.Value {
		b := &r.Budgets.Value[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || selector.Empty() || !selector.Matches(pod) {
			continue
		}
		if b.Spec.MinAvailable != nil {
			return ok(name, "At least %s stays when nodes are drained.", b.Spec.MinAvailable)
		}
		if b.Spec.MaxUnavailable != nil {
			return ok(name, "At most %s goes at a time when nodes are drained.", b.Spec.MaxUnavailable)
		}
	}
	return warning(name, "There is none: a drain of nodes can take all replicas away at once.").
		by(r.upgrade("podDisruptionBudget.enabled=true"))
}

func single(d *appsv1.Deployment) bool { return d.Spec.Replicas == nil || *d.Spec.Replicas < 2 }

// mode says whether stepgate refuses anything.
func (r *Installation) mode() Check {
	const name = "mode"
	if r.Flags == nil {
		return r.unsettled(name)
	}
	g := r.Flags.Gate
	switch {
	case g.Mode.String() == "audit":
		return warning(name, "audit: stepgate records syncs out of order and refuses none.").do(
			"When you have looked at the audit, enforce.").by(r.upgrade("config.mode=enforce"))
	case !g.Release:
		return warning(name, "enforce, require %s, pin %s, without release: a sync that was held waits until something "+
			"else wakes Argo CD.", g.Require, g.Pin).by(r.upgrade("releaseWaiting.enabled=true"))
	}
	return ok(name, "enforce, require %s, pin %s.", g.Require, g.Pin)
}
