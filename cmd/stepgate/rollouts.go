// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"sync"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/slots"
)

// rollouts is what get, explain and wait work with.
type rollouts struct {
	*cli
	clients *kube.Cluster
	live    *cluster.APIServer
	reader  *rollout.Reader
	objects evidence.Getter
	slots   recentSlots
}

// recentSlots are the slots of steps as installations keep them, by their namespaces.
type recentSlots struct {
	mu  sync.Mutex
	all map[string]*slots.Recent
}

// of are the slots in a namespace.
func (p *recentSlots) of(clientset kubernetes.Interface, namespace string) *slots.Recent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*slots.Recent{}
	}
	if p.all[namespace] == nil {
		maps := slots.ConfigMaps{Client: clientset.CoreV1().ConfigMaps(namespace)}
		p.all[namespace] = slots.NewRecent(maps, clock.RealClock{})
	}
	return p.all[namespace]
}

// rollouts reads rollouts as the installation sees them that gates the namespace of the command, or any.
func (c *cli) rollouts(ctx context.Context) (*rollouts, error) {
	clients, err := c.cluster()
	if err != nil {
		return nil, err
	}
	namespace, err := c.namespace()
	if err != nil {
		return nil, err
	}
	tracking := installation(ctx, clients.Clientset, namespace).config.Tracking
	live := cluster.NewAPIServer(clients.Judged, clients.Versions, rollout.NoObserver{}).Tracking(tracking)
	r := &rollouts{cli: c, clients: clients, live: live, reader: rollout.NewReader(clients.Judged, live, tracking)}
	if r.objects, err = evidence.NewObjects(clients.Config); err != nil {
		return nil, err
	}
	return r, nil
}

// preview judges as the installation would that gates a namespace. It asks for evidence anew.
func (r *rollouts) preview(gate installed, known rollout.Known) *webhook.Preview {
	return r.previewWith(gate, known, r.asker(gate))
}

// previews judge as the installation of each namespace would. find says what its objects say.
func (r *rollouts) previews(
	found *gates, known rollout.Known, find func(*installed) judge.Evidence,
) rollout.Previews {
	made := map[*installed]*webhook.Preview{}
	return func(namespace string) *webhook.Preview {
		gate := found.of(namespace)
		if made[gate] == nil {
			made[gate] = r.previewWith(*gate, known, find(gate))
		}
		return made[gate]
	}
}

// asker asks what objects say; nil where no gate would look at them.
func (r *rollouts) asker(gate installed) judge.Evidence {
	if r.objects == nil || !gate.exists {
		return nil
	}
	return evidence.NewAsker(evidence.NewReader(gate.kinds, r.clients.Versions, r.objects))
}

func (r *rollouts) previewWith(gate installed, known rollout.Known, found judge.Evidence) *webhook.Preview {
	by := judge.Dependencies{
		Live: rollout.NewEvaluator(known), Known: known, Histories: known, Windows: judge.ProjectWindows{Known: known},
		Evidence: found, Clock: clock.RealClock{},
	}
	var texts slots.Texts
	if gate.slots != "" {
		texts = r.slots.of(r.clients.Clientset, gate.slots)
	}
	return webhook.NewPreview(gate.config, by, texts)
}

// addWindows reads the sync windows that the installation looks at. Without the right to do so they all count as open,
// and the problem says so.
func (r *rollouts) addWindows(ctx context.Context, gate installed, known *rollout.Snapshot) (problem string) {
	if gate.projects == "" {
		return ""
	}
	var projects argo.AppProjectList
	if err := r.clients.Objects.List(ctx, &projects, client.InNamespace(gate.projects)); err != nil {
		return "every sync window counts as open, because the AppProjects cannot be read: " + err.Error()
	}
	known.AddProjects(projects.Items...)
	return ""
}

// order reads the NAME or NAMESPACE/NAME of what orders Applications: of an ApplicationSet, or where there is none of that
// name, of a parent with waves. Where that cannot be read, whoever reads it next says so.
func (r *rollouts) order(ctx context.Context, arg string) (types.NamespacedName, error) {
	name, err := r.name(arg)
	if _, parent := policy.ParentNamed(name.Name); err != nil || parent {
		return name, err
	}
	if set, err := r.live.SetVersion(ctx, name, 0); err != nil || set.UID != "" {
		return name, nil //nolint:nilerr // see above
	}
	parent := types.NamespacedName{Namespace: name.Namespace, Name: policy.NameOfParent(name.Name)}
	if set, err := r.live.ApplicationSet(ctx, parent); err == nil && set != nil {
		return parent, nil
	}
	return name, nil
}

// name reads NAME or NAMESPACE/NAME. The order that a parent gives has a slash in its NAME.
func (c *cli) name(arg string) (types.NamespacedName, error) {
	if _, parent := policy.ParentNamed(arg); parent {
		namespace, err := c.namespace()
		return types.NamespacedName{Namespace: namespace, Name: arg}, err
	}
	if namespace, name, qualified := strings.Cut(arg, "/"); qualified {
		plain, _ := policy.ParentNamed(name)
		if namespace == "" || plain == "" || strings.Contains(plain, "/") {
			return types.NamespacedName{}, command.Usage("%q is not NAME or NAMESPACE/NAME", arg)
		}
		return types.NamespacedName{Namespace: namespace, Name: name}, nil
	}
	namespace, err := c.namespace()
	return types.NamespacedName{Namespace: namespace, Name: arg}, err
}

// read reads one ApplicationSet, or all of a namespace.
func (r *rollouts) read(ctx context.Context, namespace string, name *types.NamespacedName) (*rollout.Snapshot, error) {
	if name != nil {
		return r.reader.One(ctx, *name)
	}
	return r.reader.All(ctx, namespace)
}
