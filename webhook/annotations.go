package webhook

import (
	"maps"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// ReadAnnotations are the annotations of an ApplicationSet as a gate reads them.
type ReadAnnotations struct {
	// Problems are the annotations that cannot be read, of which the stricter reading counts.
	Problems []AnnotationProblem
	// Bypassed says that a bypass is in force, and Excluded are the Applications that are excluded now, sorted.
	Bypassed bool
	Excluded []string
	// Approve are the steps that need an approval.
	Approve policy.Steps
}

// AnnotationProblem says what is wrong with an annotation.
type AnnotationProblem struct{ Annotation, Problem string }

// CheckAnnotations reads the annotations of an ApplicationSet with the code that every decision uses, in an installation that allows them all.
func CheckAnnotations(set *argo.ApplicationSet, now time.Time) ReadAnnotations {
	g := &Gate{Dependencies: Dependencies{Now: func() time.Time { return now }}}
	s := g.annotated(argocd.NewApplicationSet(set))
	read := ReadAnnotations{Bypassed: s.Bypassed, Excluded: slices.Sorted(maps.Keys(s.Excluded)), Approve: s.Conditions.Approve}
	for _, m := range s.malformed {
		read.Problems = append(read.Problems, AnnotationProblem{Annotation: m.annotation, Problem: m.problem})
	}
	return read
}
