// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Subject is an ApplicationSet to be checked, and what is known beside it.
type Subject struct {
	Set *argo.ApplicationSet
	// Applications are those that it has, if Known: the live ones, or those that were given with it.
	Applications []Application
	Known        bool
	// Live says that the ApplicationSet was read from a cluster, with its Applications.
	Live bool
	// File and Document say where it comes from; node is its text.
	File     string
	Document int
	node     *yaml.Node
	// hidden says why its live Applications could not be read.
	hidden string
	// unknown are the paths of fields that Argo CD's types do not have, and invalid says why it does not fit them.
	unknown []string
	invalid *invalidObject
	// alone says that it stands for an Application that no ApplicationSet controls, and children are the Applications
	// that Argo CD's tracking names as its, as far as they are known.
	alone    bool
	children []Application
	// lineage is what is wrong with its parents and children.
	lineage []lineage
}

// Application is the part of an Application that its step depends on.
type Application struct {
	Name   string
	Labels map[string]string
	// After is its annotation stepgate.io/after; empty if it has none.
	After string
	// Wave is the text of its sync wave; empty if it has none.
	Wave string
}

// Options say what lint cannot know from the objects.
type Options struct {
	// Clock is the time for which annotations are judged.
	Clock clock.PassiveClock
	// ProgressiveSyncs says whether the ApplicationSet controller runs with progressive syncs, where nothing shows it.
	ProgressiveSyncs bool
	// Installation is how the stepgate of the cluster is configured; nil if it is not known.
	Installation *settings.Config
}

// checker collects what is found in one ApplicationSet.
type checker struct {
	*Subject
	options Options
	// compiler compiles expressions about any kind, also about those that the installation does not read yet.
	compiler *expression.Compiler
	// rule is the ApplicationSet as decisions see it, and steps are its steps.
	rule  *argocd.ApplicationSet
	steps []policy.Step
	// waves are the 0-based steps that the sync waves of its known Applications are, and allWaves says that there are no
	// others.
	waves    []int
	allWaves bool
	// meant is the field of the strategy that is meant for rollingSync, if one is.
	meant string
	// broken are the steps of which something is known that explains why they select nothing. Nothing more is said
	// about that.
	broken map[int]bool
	// all are the steps that select every Application for a reason that was reported.
	all    map[int]bool
	result Result
}

// Check looks at one ApplicationSet by itself.
func Check(s *Subject, options Options) Result { return check(s, options).sorted() }

func check(s *Subject, options Options) *checker {
	c := &checker{
		Subject: s, options: options, compiler: expression.NewCompiler(expression.AnyKind),
		broken: map[int]bool{}, all: map[int]bool{}, result: Result{
			Namespace: s.Set.Namespace, Name: s.Set.Name, File: s.File, Document: s.Document, Findings: []Finding{},
		},
	}
	if s.invalid != nil {
		c.found("invalid-object", s.invalid.path, s.invalid.message)
		return c
	}
	if s.alone {
		c.result.Kind = "Application"
		c.application()
		return c
	}
	if missing := s.missing(); missing != "" {
		c.found("invalid-object", to("spec"), "The ApplicationSet has no "+missing+": the API server refuses it.").Remedy =
			"Add what is missing. If this is a patch of Kustomize, give lint what kustomize build writes."
		c.unknownFields()
		return c
	}
	c.rule = argocd.NewApplicationSet(s.Set)
	c.steps = c.rule.Steps
	c.result.Steps, c.result.ByWaves = len(c.steps), c.rule.Waves
	c.name()
	c.unknownFields()
	c.strategy()
	c.meantSteps()
	if len(c.steps) > 0 {
		c.checkSteps()
	}
	if c.rule.Waves {
		c.checkWaves()
	} else {
		c.syncWaves()
	}
	c.annotations()
	return c
}

// missing names the fields that an ApplicationSet has to have, and that its text does not.
func (s *Subject) missing() string {
	if s.node == nil {
		return ""
	}
	var missing []string
	spec := render.Child(s.node, "spec")
	for _, field := range []string{"generators", "template"} {
		if spec == nil || render.Child(spec, field) == nil {
			missing = append(missing, "spec."+field)
		}
	}
	return strings.Join(missing, " and no ")
}

// name looks at the name of the ApplicationSet itself.
func (c *checker) name() {
	name := c.Set.Name
	if problem := render.NameProblem(name); problem != "" && (name != "" || c.Set.GenerateName == "") {
		message := fmt.Sprintf("The API server refuses the name %q of the ApplicationSet: %s.", short(name), problem)
		if name == "" {
			message = "The ApplicationSet has no name."
		}
		c.found("invalid-name", to("metadata", "name"), message)
	}
}

// sorted is the result, with the worst findings first.
func (c *checker) sorted() Result {
	slices.SortStableFunc(c.result.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Line, b.Line))
	})
	return c.result
}

// checkSteps looks at all that matters with steps only.
func (c *checker) checkSteps() {
	for i := range c.steps {
		c.expressions(i)
	}
	c.selection()
	groups := c.members()
	c.maxUpdates(groups)
	c.tracks(groups)
	c.automatedSync()
	c.updates()
	if c.hidden != "" {
		c.gap("Applications", "the live Applications: "+c.hidden)
	}
	if !c.Live {
		c.gap("progressive syncs", "whether the ApplicationSet controller runs with progressive syncs: only the cluster "+
			"shows it")
	}
}

// found adds a finding. The caller may change it.
func (c *checker) found(rule string, path Path, message string) *Finding {
	r := ruleOf(rule)
	if c.meant != "" && len(path) > 2 && path[0] == "spec" && path[1] == "strategy" && path[2] == "rollingSync" {
		path = to(path[:2]...).and(c.meant).and(path[3:]...)
	}
	line, column := path.position(c.node)
	c.result.Findings = append(c.result.Findings, Finding{
		Rule: rule, Severity: r.Severity, Path: path.String(), Line: line, Column: column, Message: message, Remedy: r.Remedy,
	})
	return &c.result.Findings[len(c.result.Findings)-1]
}

// gap says what could not be checked.
func (c *checker) gap(subject, message string) {
	c.result.NotChecked = append(c.result.NotChecked, Gap{Subject: subject, Message: message})
}

// stepPath leads to a step.
func stepPath(step int, parts ...any) Path {
	return to("spec", "strategy", "rollingSync", "steps", step).and(parts...)
}
