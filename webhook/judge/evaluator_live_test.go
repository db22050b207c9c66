// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
)

// evaluator evaluates on what is live, with help of what is known.
func evaluator(live cluster.Live, known cluster.Known) *judge.LiveEvaluator {
	return judge.NewLiveEvaluator(cluster.NewReader(live, known))
}

// liveWorld answers reads from what is live, counts them, and fails the failAt-th.
type liveWorld struct {
	now    map[string]*argocd.Projection
	failAt int

	mu          sync.Mutex
	gets, lists int
	selected    bool
	failed      bool
}

func (l *liveWorld) count(n *int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	*n++
	if l.gets+l.lists == l.failAt {
		l.failed = true
		return errors.New("the API server does not answer")
	}
	return nil
}

// ApplicationSet is not read by Evaluate.
func (l *liveWorld) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	return nil, errors.New("not expected")
}

// SetVersion is not read by Evaluate.
func (l *liveWorld) SetVersion(context.Context, types.NamespacedName, int) (cluster.Version, error) {
	return cluster.Version{}, errors.New("not expected")
}

// Application reads one.
func (l *liveWorld) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	if err := l.count(&l.gets); err != nil {
		return nil, err
	}
	return l.now[name.Name], nil
}

// Versions lists as an API server does: what the selector selects, by Kubernetes' own meaning of it.
func (l *liveWorld) Versions(_ context.Context, _ string, selector labels.Selector) ([]cluster.Version, error) {
	if err := l.count(&l.lists); err != nil {
		return nil, err
	}
	l.selected = !selector.Empty()
	// Through its text, which is what goes over the wire.
	parsed, err := labels.Parse(selector.String())
	if err != nil {
		return nil, err
	}
	var versions []cluster.Version
	for name, p := range l.now {
		if parsed.Matches(labels.Set(p.Application.Labels)) {
			versions = append(versions, cluster.Version{
				Name: name, UID: p.UID, Owner: p.Owner, ResourceVersion: p.ResourceVersion, Labels: p.Application.Labels,
			})
		}
	}
	return versions, nil
}
