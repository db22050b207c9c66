package judge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/order"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// run declares an order as an ApplicationSync does by Argo CD's proposal of September 2026: Applications in groups, of
// which each comes after those that it depends on.
type run struct {
	groups map[string]group
	// live and known count how often it was asked; err is what a read gives.
	live, known int
	err         error
}

type group struct{ dependsOn, apps []string }

// runOf reads "data:lone backend<data:dev,net": the group backend depends on data.
func runOf(text string) *run {
	r := &run{groups: map[string]group{}}
	for word := range strings.FieldsSeq(text) {
		head, apps, _ := strings.Cut(word, ":")
		name, dependsOn, _ := strings.Cut(head, "<")
		r.groups[name] = group{strings.FieldsFunc(dependsOn, isComma), strings.FieldsFunc(apps, isComma)}
	}
	return r
}

func isComma(r rune) bool { return r == ',' }

// Order implements order.Declarer.
func (r *run) Order(_ context.Context, t order.Target) (o order.Order) {
	if !t.Live {
		r.known++
	} else if r.live++; r.err != nil {
		return order.Order{Err: r.err}
	}
	for _, g := range r.groups {
		if slices.Contains(g.apps, t.Name) {
			r.add(&o, t.Set.Namespace, g)
		}
	}
	return o
}

func (r *run) add(o *order.Order, namespace string, g group) {
	for _, name := range g.dependsOn {
		for _, app := range r.groups[name].apps {
			o.Before = append(o.Before, order.Name{
				NamespacedName: types.NamespacedName{Namespace: namespace, Name: app}, Application: true,
			})
		}
		r.add(o, namespace, r.groups[name])
	}
}

// TestAThirdDeclarer has an order by groups, beside steps and stepgate.io/after, with nothing else changed.
func TestAThirdDeclarer(t *testing.T) {
	healthy := func(names ...string) func(*scenario.Cluster) {
		return func(c *scenario.Cluster) {
			for _, app := range c.Apps {
				if slices.Contains(names, app.Name) {
					app.Status.Health.Status = "Healthy"
				}
			}
		}
	}
	unread := errors.New("the ApplicationSyncs cannot be read")
	for name, tc := range map[string]struct {
		groups, after, app string
		edit               func(*scenario.Cluster)
		err                error
		want               string
	}{
		"the first group":                              {"data:lone api<data:dev", "", "lone", nil, nil, "not_gated NotManaged"},
		"it is in no group":                            {"data:lone api<data:net", "", "dev", nil, nil, "allow FirstStep"},
		"the group before is not done":                 {"data:lone api<data:dev", "", "dev", nil, nil, "deny DependencyNotDone lone=NotHealthy"},
		"the group before that one is not done":        {"data:lone api<data:net web<api:dev", "", "dev", healthy("net"), nil, "deny DependencyNotDone lone=NotHealthy"},
		"groups of which none depends on the other":    {"data:lone api:dev", "", "dev", nil, nil, "allow FirstStep"},
		"both are done":                                {"data:lone api<data:net web<api:dev", "", "dev", healthy("net", "lone"), nil, "allow FirstStep"},
		"across ApplicationSets":                       {"data:dev api<data:net", "", "net", func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = "Missing" }, nil, "deny DependencyNotDone dev=NotHealthy"},
		"an Application that nobody controls":          {"data:net api<data:lone", "", "lone", nil, nil, "deny DependencyNotDone net=NotHealthy"},
		"it does not exist yet":                        {"data:db api<data:dev", "", "dev", nil, nil, "deny DependencyNotDone db=DependencyNotFound"},
		"an ApplicationSet of the name does not count": {"data:infra api<data:dev", "", "dev", nil, nil, "deny DependencyNotDone infra=DependencyNotFound"},
		"nor does the one that controls it":            {"data:guestbook api<data:dev", "", "dev", nil, nil, "deny DependencyNotDone guestbook=DependencyNotFound"},
		"steps hold as well, and are named":            {"data:lone api<data:prod", "", "prod", func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = "Degraded" }, nil, "deny NotHealthy dev=NotHealthy"},
		"stepgate.io/after holds as well":              {"data:lone api<data:dev", "guestbook>infra", "dev", nil, nil, "deny DependencyNotDone net=NotHealthy lone=NotHealthy"},
		"both name the same":                           {"data:lone api<data:dev", "guestbook>lone", "dev", nil, nil, "deny DependencyNotDone lone=NotHealthy"},
		"a circle through both holds like any other":   {"data:net api<data:dev", "net>dev", "dev", nil, nil, "deny DependencyNotDone net=NotHealthy"},
		"it cannot be read":                            {"data:lone api<data:dev", "", "dev", nil, unread, "error"},
		"it cannot be read, and steps deny":            {"data:lone api<data:prod", "", "prod", func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = "Degraded" }, unread, "deny NotHealthy dev=NotHealthy"},
		"it cannot be read, and the gate is bypassed":  {"data:lone api<data:dev", "", "dev", bypassed, unread, "not_gated Bypassed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, declared := chain(tc.after), runOf(tc.groups)
			if tc.edit != nil {
				tc.edit(c)
			}
			declared.err = tc.err
			v := judgeIn(c, tc.app, &scenario.Watch{At: 5}, declared)
			g.Expect(worded(v)).To(Equal(tc.want))
			if tc.err != nil && tc.want == "error" {
				g.Expect(v.Err).To(MatchError(tc.err))
			}
			g.Expect(declared.live).To(Equal(1), "it is asked once for a write")
		})
	}
}

// TestAThirdDeclarerIsHeardWithoutARead by whoever guesses what a judgment would say.
func TestAThirdDeclarerIsHeardWithoutARead(t *testing.T) {
	g := NewWithT(t)
	c, declared := chain(""), runOf("data:lone api<data:dev")
	known := scenario.Watched{Cluster: c}
	j := judge.New(settings.Config{}, judge.Dependencies{
		Known: known, Histories: &scenario.Watch{At: 5}, Clock: scenario.AtNoon, Declarers: []order.Declarer{declared},
	})
	set := argocd.NewApplicationSet(c.Sets[0])
	decide := func() policy.Decision {
		return outlook.New(j, set, known, nil).Next(argocd.NewProjection(c.Apps[0])).Decision
	}
	d := decide()
	g.Expect(d.Reason).To(Equal(policy.DependencyNotDone))
	g.Expect(d.Blockers[0].Application).To(Equal("lone"))
	c.Apps[3].Status.Health.Status = "Healthy"
	g.Expect(decide().Outcome).To(Equal(policy.Allow))
	g.Expect(declared.live).To(BeZero())
	g.Expect(declared.known).To(BeNumerically(">", 1))
}
