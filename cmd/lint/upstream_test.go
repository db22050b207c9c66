package lint

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/progressivesync"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	log "github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// Lint renders a text to exactly what argo-cd v3.5.7 renders it to, or says that it does not know. It calls broken only
// what fails there.
func TestUpstreamRendersTheSame(t *testing.T) {
	pieces := []string{
		"a", "-", " ", "{{.env}}", "{{ .env }}", "{{.missing}}", "{{.values.env}}", "{{.values.none}}", "{{.n}}", "{{.list}}", "{{index .list 0}}", "{{index .values \"env\"}}",
		"{{.env | upper}}", "{{.env | upper | lower}}", "{{trimPrefix \"d\" .env}}", "{{trimSuffix \"v\" .env}}", "{{trim .space}}", "{{default \"x\" .empty}}", "{{default \"x\" .env}}", "{{.n | default 3}}",
		"{{if eq .env \"dev\"}}yes{{else}}no{{end}}", "{{if and .env (not .empty)}}both{{end}}", "{{if .missing}}x{{else}}y{{end}}", "{{or .empty .env}}", "{{ne .env .empty}}", "{{range .list}}{{.}}{{end}}",
		"{{printf \"%s\" .env}}", "{{$x := .env}}{{$x}}", "{{ env }}", "{{env}}", "{{values.env}}", "{{missing}}", "{{}}", "{{ }}", "{{", "}}", "{{slugify .env}}", "{{/* x */}}", "\n", "{{- .env -}}", "{{len .env}}", "{{.}}", "{{.env.x}}", "{{\"{{\"}}",
	}
	known, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		text := ""
		for _, piece := range rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "pieces") {
			text += piece
		}
		e := &engine{goTemplate: rapid.Bool().Draw(t, "goTemplate"), unknownKinds: map[string]bool{}}
		if option := rapid.SampledFrom([]string{"", "missingkey=error", "missingkey=zero", "missingkey=default"}).Draw(t,
			"option"); option != "" {
			e.options = []string{option}
		}
		values := map[string]any{
			"env": "dev", "n": 2.0, "empty": "", "space": " x ", "values": map[string]any{"env": "prod"}, "list": []any{"a", "b"},
		}
		if !e.goTemplate {
			values = map[string]any{"env": "dev", "empty": "", "values.env": "prod"}
		}
		want, failure := (&utils.Render{}).Replace(text, values, e.goTemplate, e.options)
		got, err := e.render(text, params{values: values})
		total++
		var b *brokenGenerator
		switch {
		case err == nil:
			known++
			g.Expect(failure).NotTo(HaveOccurred(), "%q", text)
			g.Expect(got).To(Equal(want), "%q", text)
		case errors.As(err, &b):
			g.Expect(failure).To(HaveOccurred(), "%q", text)
		default:
			g.Expect(err).To(MatchError(errUnknown), "%q", text)
		}

		// With fewer parameters known, the result is the same, or not known.
		delete(values, rapid.SampledFrom([]string{"env", "empty", "values", "values.env", "list"}).Draw(t, "open"))
		if got, err := e.render(text, params{values: values, open: true}); err == nil {
			g.Expect(failure).NotTo(HaveOccurred(), "%q", text)
			g.Expect(got).To(Equal(want), "%q", text)
		}
	})
	NewWithT(t).Expect(known*3).To(BeNumerically(">", total), "most texts have to be known, or this compares nothing")
}

// keeper is the ApplicationSet controller's side of progressivesync.
type keeper struct {
	statuses []argo.ApplicationSetApplicationStatus
}

func (k *keeper) SetAppSetApplicationStatus(
	_ context.Context, _ *log.Entry, _ *argo.ApplicationSet, statuses []argo.ApplicationSetApplicationStatus,
) error {
	k.statuses = statuses
	return nil
}

func (*keeper) SetApplicationSetStatusCondition(
	context.Context, *argo.ApplicationSet, argo.ApplicationSetCondition, bool,
) error {
	return nil
}

// What lint says of maxUpdate is what argo-cd v3.5.7 does with it: as many Applications as it promotes at once in a
// step of n.
func TestUpstreamCountsMaxUpdateTheSame(t *testing.T) {
	limits := []intstr.IntOrString{
		intstr.FromInt32(0), intstr.FromInt32(-1), intstr.FromInt32(1), intstr.FromInt32(100), intstr.FromString("0%"),
		intstr.FromString("00%"), intstr.FromString("-5%"), intstr.FromString("-500%"), intstr.FromString("5"),
		intstr.FromString("five"), intstr.FromString(""), intstr.FromString("%"), intstr.FromString("10%"),
		intstr.FromString("33%"), intstr.FromString("50%"), intstr.FromString("99%"), intstr.FromString("100%"),
		intstr.FromString("+100%"),
		intstr.FromString("250%"), intstr.FromString("99999999999999999999%"), intstr.FromString("+0%"),
		intstr.FromString("1.5%"),
	}
	for _, limit := range limits {
		for _, n := range []int{1, 2, 3, 10} {
			t.Run(limit.String()+" of "+strconv.Itoa(n), func(t *testing.T) {
				g := NewWithT(t)
				promoted := promotedAtOnce(t, limit, n)
				s := &Subject{Set: setWith(&limit), Known: true}
				for i := range n {
					s.Applications = append(s.Applications, Application{
						Name: strconv.Itoa(i), Labels: map[string]string{"env": "dev"},
					})
				}
				rules := []string{}
				for _, f := range Check(s, Options{}).Findings {
					if f.Rule != "one-step" {
						rules = append(rules, f.Rule)
					}
				}
				switch {
				case slices.Contains(rules, "manual-step"), slices.Contains(rules, "invalid-max-update") &&
					limit.Type == intstr.Int:
					g.Expect(promoted).To(Equal(0))
				case slices.Contains(rules, "invalid-max-update"), slices.Contains(rules, "max-update-below-one"):
					g.Expect(promoted).To(Equal(1))
				case slices.Contains(rules, "max-update-no-limit"):
					g.Expect(promoted).To(Equal(n))
				default:
					g.Expect(rules).To(BeEmpty())
					g.Expect(promoted).To(BeNumerically(">", 0))
				}
			})
		}
	}
}

func setWith(limit *intstr.IntOrString) *argo.ApplicationSet {
	return &argo.ApplicationSet{Spec: argo.ApplicationSetSpec{Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync",
		RollingSync: &argo.ApplicationSetRolloutStrategy{
			Steps: []argo.ApplicationSetRolloutStep{{MaxUpdate: limit, MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{"dev"}}}}},
		}}}}
}

// promotedAtOnce lets argo-cd promote n Applications that wait in an open step.
func promotedAtOnce(t *testing.T, limit intstr.IntOrString, n int) int {
	t.Helper()
	set, toSync, steps := setWith(&limit), map[string]bool{}, map[string]int{}
	for i := range n {
		name := strconv.Itoa(i)
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: name, Step: "1", Status: argo.ProgressiveSyncWaiting,
		})
		toSync[name], steps[name] = true, 0
	}
	logger := log.New()
	logger.SetOutput(io.Discard)
	k := &keeper{}
	_, err := progressivesync.NewManager(nil, nil, k).UpdateApplicationSetApplicationStatusProgress(context.Background(),
		log.NewEntry(logger), set, toSync, steps)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	promoted := 0
	for _, s := range k.statuses {
		if s.Status == argo.ProgressiveSyncPending {
			promoted++
		}
	}
	return promoted
}
