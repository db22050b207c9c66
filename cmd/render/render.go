// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"
)

// maxApplications bounds those of one generator.
const maxApplications = 5000

// Generator is one kind of generator in an entry of spec.generators. An entry with several kinds gives the Applications
// of all of them.
type Generator struct {
	// Index is the 0-based number of the entry, and Kind its field, such as "list".
	Index int
	Kind  string
	// Template is its own template; what is set there wins over the template of the ApplicationSet.
	Template *argo.ApplicationSetTemplate

	spec argo.ApplicationSetGenerator
	set  *argo.ApplicationSet
}

// Result is what a generator gives.
type Result struct {
	// Applications are those that the ApplicationSet controller would write, but for its finalizer.
	Applications []*argo.Application
	// Params are the sets of parameters, if something about them cannot be known offline. Then there are no Applications.
	Params []Params
	// Unknown are the kinds of generators that need a cluster or a network, sorted.
	Unknown []string
	// TooMany says that there are more than maxApplications, and nothing was rendered.
	TooMany bool
}

// Generators takes spec.generators apart.
func Generators(set *argo.ApplicationSet) []Generator {
	var all []Generator
	for i := range set.Spec.Generators {
		for _, k := range kindsOf(&set.Spec.Generators[i]) {
			all = append(all, Generator{Index: i, Kind: k.name, Template: k.template, spec: k.only, set: set})
		}
	}
	return all
}

// TemplateError says that Argo CD cannot render a template. Errors of generators have other types.
type TemplateError struct{ error }

// Unwrap is the error of Argo CD's renderer.
func (e TemplateError) Unwrap() error { return e.error }

// Render makes the Applications. An error is Argo CD's own, or one that Argo CD would report, too; the result then has
// the Applications that can be rendered all the same.
func (g Generator) Render() (Result, error) {
	o := offline{set: g.set, unknown: map[string]bool{}}
	if n := o.count(&g.spec); n > maxApplications {
		return Result{TooMany: true}, nil
	}
	if !o.known(&g.spec) {
		params, err := o.params(&g.spec)
		return Result{Params: params, Unknown: slices.Sorted(maps.Keys(o.unknown))}, err
	}
	set := *g.set
	set.Spec.Generators = []argo.ApplicationSetGenerator{g.spec}
	generated, reason, err := template.GenerateApplications(silent(), set, argoGenerators(), &renderer{}, nil)
	var r Result
	for i := range generated {
		r.Applications = append(r.Applications, &generated[i])
	}
	switch {
	case err == nil:
		return r, nil
	case reason == argo.ApplicationSetReasonRenderTemplateParamsError:
		return r, TemplateError{err}
	}
	return r, readable(err)
}

// readable repairs the text of Argo CD's list generator for a value that is no text, which ends in "%!w(<nil>)".
func readable(err error) error {
	if strings.Contains(err.Error(), "%!w(<nil>)") {
		return errors.New("a value is no text, and without goTemplate Argo CD takes texts only")
	}
	return err
}

// Silence turns off the log that Argo CD's generators write to standard error beside the errors that they return. It is
// one of the whole process; a command calls it when it begins.
func Silence() {
	log.SetOutput(io.Discard)
	log.SetLevel(log.PanicLevel)
}

// silent is a log of nothing: the caller gets the errors. The level matters, too: of each Application that fails, Argo CD
// logs the parameters of all, and a log that is thrown away is still formatted.
func silent() *log.Entry {
	logger := log.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(log.PanicLevel)
	return log.NewEntry(logger)
}
