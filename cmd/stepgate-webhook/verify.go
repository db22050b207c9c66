package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/settings"
)

// verification is what --verify-kinds runs.
type verification struct {
	*evidence.Source
	creator *evidence.Creator // nil without --verify-create
}

// newVerification returns a verification. Without --verify-kinds it reads nothing, and says so.
func newVerification(o *flags.Options, c *kube.Cluster) (*verification, error) {
	kinds := o.Verify.Kinds()
	objects, err := evidence.NewObjects(c.Config)
	if err != nil {
		return nil, err
	}
	reader := evidence.NewReader(kinds, c.Versions, objects)
	v := &verification{Source: &evidence.Source{
		Watch:  evidence.NewWatch(kinds, o.Verify.Watched(o.Gate.Namespaces.Watched()), c.Versions, reader),
		Reader: reader,
	}}
	if runs, _ := kinds.Of(settings.Templated); o.Verify.Create {
		creates, err := dynamic.NewForConfig(c.Config)
		if err != nil {
			return nil, fmt.Errorf("API server client: %w", err)
		}
		v.creator = evidence.NewCreator(runs, objects, creates)
	}
	return v, nil
}

// run watches, and creates what is wanted, until ctx is done.
func (v *verification) run(ctx context.Context) error {
	if v.creator != nil {
		go v.creator.Run(ctx)
	}
	return v.Run(ctx)
}

// lookAtVerified has the ApplicationSets looked at that may wait for an object that has changed.
func (p *program) lookAtVerified(parser *settings.Parser) func(schema.GroupResource, types.NamespacedName) {
	return func(kind schema.GroupResource, object types.NamespacedName) {
		for _, set := range p.known.Sets() {
			if _, verifies := set.Annotations.Get(settings.VerifyAnnotation); !verifies {
				continue
			}
			if evidence.Concerns(parser.Of(set).Verify, kind, object.Namespace) {
				p.changed(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
			}
		}
	}
}
