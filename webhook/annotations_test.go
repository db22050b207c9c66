package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
)

// CheckAnnotations says what the gate makes of the annotations, at a time.
func TestCheckAnnotations(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	set := &argo.ApplicationSet{}
	set.Annotations = map[string]string{
		ModeAnnotation: "Audit", BypassUntilAnnotation: "2026-11-21T13:00:00Z", BypassReasonAnnotation: "INC-1",
		ExcludeAnnotation: "prod-us, prod-eu", ExcludeUntilAnnotation: "2026-11-21T13:00:00Z", ExcludeReasonAnnotation: "INC-2",
	}
	g.Expect(CheckAnnotations(set, now)).To(Equal(ReadAnnotations{
		Problems: []AnnotationProblem{{ModeAnnotation, `not valid, the stricter reading is used: "Audit" is not one of enforce, audit, off`}},
		Bypassed: true, Excluded: []string{"prod-eu", "prod-us"},
	}))
	g.Expect(CheckAnnotations(set, now.Add(time.Hour))).To(Equal(ReadAnnotations{
		Problems: []AnnotationProblem{{ModeAnnotation, `not valid, the stricter reading is used: "Audit" is not one of enforce, audit, off`}},
	}))
	g.Expect(CheckAnnotations(&argo.ApplicationSet{}, now)).To(Equal(ReadAnnotations{}))
}
