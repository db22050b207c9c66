// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// chain is guestbook with dev in step 1, infra with net, which is Degraded, and lone, which nobody controls and which
// is Degraded, too. Each word "A>B" makes A come after B.
func chain(words string) *scenario.Cluster {
	c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
	c.Sets = append(c.Sets, scenario.RollingSync("infra", "1"))
	net, lone := scenario.App("net", "1", "Degraded", "a"), scenario.App("lone", "1", "Degraded", "a")
	net.OwnerReferences, lone.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("infra")}, nil
	net.UID, lone.UID = "net", "lone"
	c.Apps = append(c.Apps, net, lone)
	for word := range strings.FieldsSeq(words) {
		who, others, _ := strings.Cut(word, ">")
		annotate(c, who, others)
	}
	return c
}

func annotate(c *scenario.Cluster, who, others string) {
	var all []metav1.Object
	for _, set := range c.Sets {
		all = append(all, set)
	}
	for _, app := range c.Apps {
		all = append(all, app)
	}
	for _, o := range all {
		if o.GetName() == who {
			o.SetAnnotations(map[string]string{settings.AfterAnnotation: others})
			return
		}
	}
	panic("nothing is called " + who)
}

func judgeIn(c *scenario.Cluster, name string, watch *scenario.Watch) judge.Verdict {
	j := judge.New(settings.Config{AfterNamespaces: []string{"platform"}}, judge.Dependencies{
		Live: c, Known: scenario.Watched{Cluster: c}, Histories: watch, Clock: scenario.AtNoon,
	})
	w, err := judge.NewWrite(scenario.Pinned(scenario.SyncOf(c, name).Request()), argocd.Tracking{})
	if err != nil {
		panic(err)
	}
	return j.Judge(context.Background(), w)
}

// bypassed switches the gate off for guestbook.
func bypassed(c *scenario.Cluster) {
	if c.Sets[0].Annotations == nil {
		c.Sets[0].Annotations = map[string]string{}
	}
	c.Sets[0].Annotations[settings.BypassAnnotation] = "2026-03-01T13:00:00Z INC-1"
}

// worded is a verdict in a few words.
func worded(v judge.Verdict) string {
	if v.Err != nil {
		return "error"
	}
	words := []string{v.Outcome.String(), string(v.Reason)}
	for _, b := range v.Blockers {
		words = append(words, b.Named()+"="+string(b.Reason))
	}
	return strings.Join(words, " ")
}

func afterProblems(c *scenario.Cluster, set *argo.ApplicationSet) []settings.Problem {
	parser := settings.NewParser(settings.Config{}, scenario.AtNoon)
	follower := argocd.NewApplicationSet(set)
	return judge.AfterProblems(
		parser, scenario.Watched{Cluster: c}, judge.FollowerOf(follower, ""), parser.Of(follower).After,
	)
}

func TestAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		words, app string
		edit       func(c *scenario.Cluster)
		want       string
		problem    string
	}{
		"nothing says so":                              {"", "dev", nil, "allow FirstStep", ""},
		"an ApplicationSet":                            {"guestbook>infra", "dev", nil, "deny DependencyNotDone net=NotHealthy", ""},
		"its later steps as well":                      {"guestbook>infra", "prod", nil, "deny DependencyNotDone net=NotHealthy", ""},
		"an earlier step is named first":               {"guestbook>infra", "prod", func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = "Degraded" }, "deny NotHealthy dev=NotHealthy", ""},
		"an Application that nobody controls":          {"guestbook>lone", "dev", nil, "deny DependencyNotDone lone=NotHealthy", ""},
		"both":                                         {"guestbook>infra,lone", "dev", nil, "deny DependencyNotDone net=NotHealthy lone=NotHealthy", ""},
		"one Application of an ApplicationSet says so": {"dev>infra", "dev", nil, "deny DependencyNotDone net=NotHealthy", ""},
		"another one does not":                         {"dev>infra", "prod", nil, "allow EarlierStepsDone", ""},
		"an Application that nobody controls says so":  {"lone>infra", "lone", nil, "deny DependencyNotDone net=NotHealthy", ""},
		"it is done":                                   {"lone>infra", "lone", func(c *scenario.Cluster) { c.Apps[2].Status.Health.Status = "Healthy" }, "not_gated NotManaged", ""},
		"it has no steps": {"guestbook>infra", "dev", func(c *scenario.Cluster) { c.Sets[0].Spec.Strategy = nil },
			"deny DependencyNotDone net=NotHealthy", ""},
		"nobody of the name":          {"guestbook>infr", "dev", nil, "deny DependencyNotDone infr=DependencyNotFound", ""},
		"a namespace that is allowed": {"guestbook>platform/base", "dev", nil, "deny DependencyNotDone platform/base=DependencyNotFound", ""},
		"a namespace that is not":     {"guestbook>kube-system/x", "dev", nil, "deny DependencyNotFound", `namespace "kube-system" may not be named`},
		"what cannot be read":         {"lone>a,,b", "lone", nil, "deny DependencyNotFound", "is no name"},
		"one of its own":              {"prod>dev", "prod", func(c *scenario.Cluster) { c.Sets[0].Spec.Strategy = nil }, "not_gated NotRollingSync", ""},
		"itself":                      {"dev>dev", "dev", func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = "Degraded" }, "allow FirstStep", ""},
		"a circle elsewhere":          {"guestbook>infra infra>lone lone>infra", "dev", nil, "deny DependencyNotDone net=NotHealthy", ""},
		"one in no step": {"guestbook>infra", "dev", func(c *scenario.Cluster) {
			c.Apps[2].Labels = map[string]string{"step": "none"}
			c.Sets[1].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "net", Step: "-1", Status: "Waiting"},
			}
		}, "deny DependencyNotDone net=NotHealthy", ""},
		"one that it does not generate any more": {"guestbook>infra", "dev", func(c *scenario.Cluster) {
			c.Sets[1].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "net", Step: "-1", Status: "Waiting"},
			}
		}, "allow FirstStep", ""},
		"one that it excludes": {"guestbook>infra", "dev", func(c *scenario.Cluster) {
			c.Sets[1].Annotations = map[string]string{
				settings.ExcludeAnnotation: "net 2026-03-01T13:00:00Z INC-1",
			}
		}, "allow FirstStep", ""},
		"one that it has excluded until a while ago": {"guestbook>infra", "dev", func(c *scenario.Cluster) {
			c.Sets[1].Annotations = map[string]string{
				settings.ExcludeAnnotation: "net 2026-03-01T11:00:00Z INC-1",
			}
		}, "deny DependencyNotDone net=NotHealthy", ""},
		"it is bypassed": {"guestbook>infra", "dev", bypassed, "not_gated Bypassed", ""},
		"it is off":      {"lone>infra", "lone", func(c *scenario.Cluster) { c.Apps[3].Annotations[settings.ModeAnnotation] = "off" }, "not_gated NotManaged", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := chain(tc.words)
			if tc.edit != nil {
				tc.edit(c)
			}
			v := judgeIn(c, tc.app, &scenario.Watch{At: 5})
			g.Expect(v.Err).NotTo(HaveOccurred())
			g.Expect(worded(v)).To(Equal(tc.want), v.Message())
			g.Expect(strings.Join(v.Settings.ProblemTexts(), " ")).To(ContainSubstring(tc.problem))
			if tc.problem == "" {
				g.Expect(v.Settings.Problems).To(BeEmpty())
			}
		})
	}
}

// TestACircleIsNoWayRound for whoever may annotate a part of what holds others up: each name holds like any other, and
// whoever is denied reads the way. One that is done holds nobody.
func TestACircleIsNoWayRound(t *testing.T) {
	for name, tc := range map[string]struct {
		words, app string
		edit       func(c *scenario.Cluster)
		want, way  string
	}{
		"its own ApplicationSet": {"guestbook>guestbook", "dev", func(c *scenario.Cluster) { c.Apps[1].Status.Health.Status = "Degraded" },
			"deny DependencyNotDone prod=NotHealthy", "guestbook > guestbook"},
		"of two":                        {"guestbook>infra infra>guestbook", "dev", nil, "deny DependencyNotDone net=NotHealthy", "guestbook > infra > guestbook"},
		"a member of what holds it up":  {"guestbook>infra net>guestbook", "dev", nil, "deny DependencyNotDone net=NotHealthy", "guestbook > infra > guestbook"},
		"by way of members":             {"guestbook>lone lone>net net>guestbook", "dev", nil, "deny DependencyNotDone lone=NotHealthy", "guestbook > lone > net > guestbook"},
		"of an Application of its own":  {"guestbook>lone lone>dev", "dev", nil, "deny DependencyNotDone lone=NotHealthy", "dev > lone > dev"},
		"beside a name that is in none": {"guestbook>lone,infra infra>guestbook", "dev", nil, "deny DependencyNotDone lone=NotHealthy net=NotHealthy", "guestbook > infra > guestbook"},
		"through one that is done": {"guestbook>lone,infra infra>guestbook", "dev", func(c *scenario.Cluster) { c.Apps[2].Status.Health.Status = "Healthy" },
			"deny DependencyNotDone lone=NotHealthy", ""},
		"all of it is done": {"guestbook>infra infra>guestbook", "dev", func(c *scenario.Cluster) { c.Apps[2].Status.Health.Status = "Healthy" },
			"allow FirstStep", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := chain(tc.words)
			if tc.edit != nil {
				tc.edit(c)
			}
			v := judgeIn(c, tc.app, &scenario.Watch{At: 5})
			g.Expect(worded(v)).To(Equal(tc.want))
			g.Expect(v.Circle).To(Equal(tc.way))
			if tc.way != "" {
				g.Expect(v.Message()).To(ContainSubstring("in a circle (" + tc.way + ")"))
			}
		})
	}
}

// TestAfterIsReadLive fails each of the reads in turn: there is no decision then.
func TestAfterIsReadLive(t *testing.T) {
	g := NewWithT(t)
	whole := chain("guestbook>infra,lone")
	judgeIn(whole, "prod", &scenario.Watch{At: 5})
	g.Expect(whole.Reads).To(BeNumerically(">", 3), "both names are read")
	for n := range whole.Reads {
		c := chain("guestbook>infra,lone")
		c.FailAt = n + 1
		g.Expect(judgeIn(c, "prod", &scenario.Watch{At: 5}).Err).To(MatchError(scenario.ErrRead), "read %d", n+1)
	}
}

// TestAfterWantsAFreshComparison as an ordered step does.
func TestAfterWantsAFreshComparison(t *testing.T) {
	g := NewWithT(t)
	c := chain("guestbook>infra")
	c.Apps[2].Status.Health.Status = "Healthy"
	g.Expect(judgeIn(c, "dev", &scenario.Watch{At: 5}).Outcome).To(Equal(policy.Allow))
	stale := &scenario.Watch{At: 5, Stale: map[types.UID]bool{"net": true}}
	message := judgeIn(c, "dev", stale).Message()
	g.Expect(message).To(Equal("step 1 of ApplicationSet argocd/guestbook may not sync yet: it " +
		"comes after infra, which is not done: net (NotCompleted: not known to be compared since the change was seen). Next: " +
		"refresh net: argocd app get net --refresh"))
}

// TestWhoeverWritesTheAnnotationIsWarned of an ApplicationSet that is being created, too.
func TestWhoeverWritesTheAnnotationIsWarned(t *testing.T) {
	for others, want := range map[string]string{
		"infra": "", "lone": "", "nobody": "annotation stepgate.io/after is waiting for argocd/nobody, which does not exist: nothing starts until it does",
		"back":   "annotation stepgate.io/after is a circle (new > back > new): each waits until the others are done; take a name out",
		"member": "annotation stepgate.io/after is a circle (own > member > own): each waits until the others are done; take a name out",
	} {
		c := chain("")
		back := scenario.RollingSync("back", "1")
		back.Annotations = map[string]string{settings.AfterAnnotation: "new"}
		c.Sets = append(c.Sets, back)
		member, own := scenario.App("member", "1", "Healthy", "a"), scenario.App("own", "1", "Healthy", "a")
		member.OwnerReferences, member.Annotations = nil, map[string]string{settings.AfterAnnotation: "own"}
		own.OwnerReferences[0].Name = "new"
		c.Apps = append(c.Apps, member, own)
		created := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: "new", Annotations: map[string]string{settings.AfterAnnotation: others},
		}}
		var got []string
		for _, p := range afterProblems(c, created) {
			got = append(got, p.String())
		}
		NewWithT(t).Expect(strings.Join(got, "\n")).To(Equal(want), others)
	}
}

// crowded is a cluster in which no name is read until all may be.
type crowded struct {
	*scenario.Cluster
	underWay atomic.Int32
	may      chan struct{}
}

// Named is judge.Evaluator.
func (c *crowded) Named(ctx context.Context, name types.NamespacedName) (judge.Named, error) {
	c.underWay.Add(1)
	select {
	case <-c.may:
	case <-ctx.Done():
		return judge.Named{}, ctx.Err()
	}
	if strings.HasPrefix(name.Name, "broken") {
		return judge.Named{}, fmt.Errorf("read %s: %w", name, scenario.ErrRead)
	}
	return c.Cluster.Named(ctx, name)
}

// TestNamesAreReadSideBySide, five at a time, and the verdict has them in their order.
func TestNamesAreReadSideBySide(t *testing.T) {
	for others, want := range map[string]string{
		"n01,n02,n03,n04,n05,n06,n07,infra,n09,n10,n11,n12,n13,n14,n15,n16,n17,n18,n19,n20": "deny DependencyNotDone " +
			"n01=DependencyNotFound n02=DependencyNotFound n03=DependencyNotFound n04=DependencyNotFound " +
			"n05=DependencyNotFound n06=DependencyNotFound n07=DependencyNotFound net=NotHealthy",
		"n01,broken-1,n03,broken-2,n05,n06": "read argocd/broken-1: " + scenario.ErrRead.Error(),
	} {
		g := NewWithT(t)
		c := &crowded{Cluster: chain("guestbook>" + others), may: make(chan struct{})}
		j := judge.New(settings.Config{}, judge.Dependencies{
			Live: c, Known: scenario.Watched{Cluster: c.Cluster}, Histories: &scenario.Watch{At: 5}, Clock: scenario.AtNoon,
		})
		w, err := judge.NewWrite(scenario.Pinned(scenario.SyncOf(c.Cluster, "dev").Request()), argocd.Tracking{})
		g.Expect(err).NotTo(HaveOccurred())
		judged := make(chan judge.Verdict, 1)
		go func() { judged <- j.Judge(t.Context(), w) }()
		g.Eventually(c.underWay.Load, "10s").Should(BeNumerically(">=", 5))
		g.Consistently(c.underWay.Load).Should(BeEquivalentTo(5))
		close(c.may)
		v := <-judged
		if v.Err != nil {
			g.Expect(v.Err).To(MatchError(ContainSubstring(want)))
		} else {
			g.Expect(worded(v)).To(HavePrefix(want))
		}
	}
}
