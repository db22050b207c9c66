// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	kjson "sigs.k8s.io/json"

	"github.com/stepgate/stepgate/cmd/render"
)

// Objects are the objects of Argo CD in some files, or from a cluster.
type Objects struct {
	// Reader reads files. Take takes what it has read.
	render.Reader

	Sets         []*argo.ApplicationSet
	Applications []*argo.Application

	// dropped are the fields that are meant for the strategy of an ApplicationSet, and that the API server drops.
	dropped map[*argo.ApplicationSet][]string
}

// Take takes what was read from files. What cannot be read is an error: nothing is played without it.
func (o *Objects) Take() error {
	if len(o.Failures) > 0 {
		return o.Failures[0]
	}
	for _, object := range o.Objects {
		if err := o.add(&object); err != nil {
			return render.Failure{File: object.File, Document: object.Document, Line: object.Node.Line, Message: err.Error()}
		}
	}
	o.Objects = nil
	return nil
}

func (o *Objects) add(object *render.Object) error {
	if object.Kind == render.Application {
		app := &argo.Application{}
		o.Applications = append(o.Applications, app)
		// As the API server reads it: a field in other letters is another field.
		return named(app, kjson.UnmarshalCaseSensitivePreserveInts(object.Raw, app))
	}
	set := &argo.ApplicationSet{}
	unknown, err := render.DecodeSet(object.Raw, set)
	if err != nil {
		_, problem := render.Invalid(err)
		return errors.New(problem)
	}
	o.Sets = append(o.Sets, set)
	if fields := slices.DeleteFunc(unknown, func(path string) bool { return !render.OfStrategy(path) }); len(fields) > 0 {
		if o.dropped == nil {
			o.dropped = map[*argo.ApplicationSet][]string{}
		}
		o.dropped[set] = fields
	}
	return named(set, nil)
}

// named refuses an object that could not be decoded, and one without a name.
func named(object interface{ GetName() string }, err error) error {
	if err == nil && object.GetName() == "" {
		return errors.New("metadata.name is missing")
	}
	if err != nil {
		return fmt.Errorf("an Application that does not fit its schema: %w", err)
	}
	return nil
}
