// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// subject is a target with what is known of it: all that may differ between two targets of one ApplicationSet.
type subject struct {
	Input    policy.Input // without what the two have in common
	Past     policy.Past
	Recorded policy.Recorded
	Own      policy.Application
	// Freshness is that of the siblings.
	Freshness []policy.Freshness
}

// pair is an ApplicationSet with two targets.
type pair struct {
	common   policy.Input
	past     map[string]policy.Past
	subjects [2]subject
}

// names are those of the two.
var names = [2]string{"target", "alike"}

// pairFrom draws two targets that differ in a few fields. These differ as those of any two inputs do.
func pairFrom(random *rand.Rand) *pair {
	data := [2][]byte{randomBytes(random), randomBytes(random)}
	p := &pair{common: inputFrom(data[0]), past: map[string]policy.Past{}}
	if p.common.ApplicationSet == nil {
		return nil
	}
	for _, s := range p.common.Siblings {
		p.past[s.Name] = p.common.History.Past(s.Name)
	}
	p.subjects[0] = subjectOf(p.common, &choices{left: data[1][:len(data[1])/2]})
	p.subjects[1] = p.subjects[0]
	other := subjectOf(inputFrom(data[1]), &choices{left: data[0]})
	for range 1 + random.IntN(3) {
		path := different[random.IntN(len(different))]
		p.subjects[1].field(path).Set(other.field(path))
	}
	return p
}

func subjectOf(in policy.Input, c *choices) subject {
	in.Settings.Track = of(c, "", "", "env")
	s := subject{Input: in, Past: in.History.Past(in.Target.Name), Own: c.application()}
	s.Past.Relabelled = c.rarely(8)
	s.Past.Runs = policy.Source{Key: "common", Revision: "a"}
	s.Past.RunsFrom = uint64(c.upTo(3))
	if c.rarely(3) {
		s.Past.Completions = []policy.Completion{{Sources: c.sources(), OperatedAt: s.Input.Target.SyncStartedAt}}
	}
	s.Recorded = policy.Recorded{
		Step: of(c, 3, 3, 3, 2, 0), TransitionedAt: c.time(), Pending: c.rarely(2), Started: c.rarely(2), Healthy: c.rarely(2),
	}
	if !c.rarely(4) {
		s.Own.Labels, s.Own.Compared = in.Target.Labels, in.Target.Compared
	}
	for range 8 {
		s.Freshness = append(s.Freshness, of(c, policy.Unknown, policy.Fresh, policy.Newest))
	}
	return s
}

// leaves are the fields in which two targets may differ, by their names from a subject on.
func leaves(of reflect.Type, path ...string) (all [][]string) {
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return [][]string{path}
	}
	for i := range of.NumField() {
		switch f := of.Field(i); f.Type {
		case reflect.TypeFor[*policy.ApplicationSet](), reflect.TypeFor[[]policy.Sibling](),
			reflect.TypeFor[policy.Settings](),
			reflect.TypeFor[policy.Evidence](), reflect.TypeFor[func(string) policy.Past]():
			// The same for both, but for Settings that are one by one those of an Application.
		default:
			if f.IsExported() && (f.Name != "Now" || len(path) > 1) {
				all = append(all, leaves(f.Type, append(slices.Clone(path), f.Name)...)...)
			}
		}
	}
	return all
}

var different = append(leaves(reflect.TypeFor[subject]()), []string{"Input", "Settings", "Candidates"},
	[]string{"Input", "Settings", "Follows"})

// field is the field of a subject at a path.
func (s *subject) field(path []string) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for _, name := range path {
		v = v.FieldByName(name)
	}
	return v
}

// inputs are those of the two targets. They are siblings and peers of each other.
func (p *pair) inputs() (both [2]policy.Input) {
	set := *p.common.ApplicationSet
	set.Recorded = maps.Collect(maps.All(set.Recorded))
	siblings := slices.DeleteFunc(slices.Clone(p.common.Siblings), func(s policy.Sibling) bool {
		return s.Name == "target"
	})
	for i, name := range names {
		s := &p.subjects[i]
		set.Recorded[name] = s.Recorded
		own := s.Own
		own.Name = name
		siblings = append(siblings, policy.Sibling{Application: &own})
	}
	for i := range siblings {
		siblings[i] = set.Sibling(siblings[i].Application)
	}
	for i, name := range names {
		in := p.subjects[i].Input
		in.Target.Name, in.ApplicationSet, in.Siblings = name, &set, siblings
		in.Now, in.Evidence = p.common.Now, p.common.Evidence
		fresh := p.subjects[i].Freshness
		in.History.Of = func(of string) policy.Past {
			past := p.past[of]
			if at := slices.Index(names[:], of); at >= 0 {
				past = p.subjects[at].Past
			}
			past.Freshness = fresh[len(of)%len(fresh)]
			if n := of[len(of)-1]; n >= '0' && n <= '7' {
				past.Freshness = fresh[n-'0']
			}
			return past
		}
		both[i] = in
	}
	return both
}

// TestTargetsWithOneKeyAreAlike judges two targets that differ in a few fields. Where they have the same key, the one is
// judged as the other, but for its name.
func TestTargetsWithOneKeyAreAlike(t *testing.T) {
	random, pairs, alike := rand.New(rand.NewPCG(5, 6)), 20_000, 0
	if testing.Short() {
		pairs /= 4
	}
	denied := 0
	for range pairs {
		p := pairFrom(random)
		if p == nil {
			continue
		}
		in := p.inputs()
		if keys := policy.NewKeys(in[0].Siblings); keys.Of(in[0]) != keys.Of(in[1]) {
			continue
		}
		alike++
		d := policy.Evaluate(in[0]).For("alike")
		if len(d.Blockers) > 0 {
			denied++
		}
		same(t, policy.Evaluate(in[1]), d)
		same(t, policy.Repeated(in[1]), policy.Repeated(in[0]))
		var unmet []policy.Decision
		for _, d := range policy.Unmet(in[0]) {
			unmet = append(unmet, d.For("alike"))
		}
		same(t, policy.Unmet(in[1]), unmet)
		candidates := policy.Candidates(in[0])
		for i := range candidates {
			candidates[i].Decision = candidates[i].For("alike")
		}
		same(t, policy.Candidates(in[1]), candidates)
	}
	t.Log(alike, denied)
	g := NewWithT(t)
	g.Expect(alike).To(BeNumerically(">", pairs/10))
	g.Expect(denied).To(BeNumerically(">", pairs/50))
}

// same is gomega's Equal, which takes long to say that nothing differs.
func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		NewWithT(t).Expect(got).To(Equal(want))
	}
}

// TestEveryFieldCounts changes each field in which two targets may differ. What changes the key no more has to be
// listed here: TestTargetsWithOneKeyAreAlike shows that the rule does not read it, or something else stands for it.
func TestEveryFieldCounts(t *testing.T) {
	unread := []string{
		"Input.Target.Name",
		"Input.Target.ReconciledAt", // only who asks for a refresh reads it
		// Others stand for these: the step, whether the sync is a repetition, until when it has to be proven, and what could
		// be deployed. They are rows of TestWhatTellsTargetsApart.
		"Input.Target.SyncStartedAt", "Input.Target.SyncFinishedAt",
		"Past.Step", "Past.Completions", "Past.Runs.Key", "Past.Runs.Revision", "Past.RunsFrom",
		"Recorded.TransitionedAt", "Recorded.Started",
		// These are asked of siblings of earlier steps.
		"Recorded.Healthy", "Recorded.Revisions", "Past.Freshness", "Past.Applied", "Past.Altered", "Past.Unproven", "Past.Broken", "Past.Respecified",
		"Own.Name", "Own.Labels", "Own.Cluster", "Own.HealthSince", "Own.ReconciledAt",
		"Own.LastOperation.StartedAt", "Own.LastOperation.FinishedAt", "Own.LastFull.StartedAt", "Own.LastFull.FinishedAt", "Own.LastSync.FinishedAt", "Own.LastSync.Since",
		"Freshness", // there is no sibling
	}
	p := &pair{common: train(), past: map[string]policy.Past{}}
	p.common.Siblings, p.past["dev"] = nil, policy.Past{}
	in := train()
	in.Settings.Conditions.MaxFailures, in.History.Altered, in.Settings.Track = &policy.Budget{}, true, "region"
	p.subjects[0] = subject{
		Input: in, Own: policy.Application{Labels: in.Target.Labels, Health: "Healthy"}, Freshness: []policy.Freshness{policy.Unknown},
	}
	var unchanged []string
	for _, path := range different {
		p.subjects[1] = p.subjects[0]
		alter(p.subjects[1].field(path))
		both := p.inputs()
		if keys := policy.NewKeys(both[0].Siblings); keys.Of(both[0]) == keys.Of(both[1]) {
			unchanged = append(unchanged, strings.Join(path, "."))
		}
	}
	NewWithT(t).Expect(unchanged).To(ConsistOf(unread))
}

// alter changes a value.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "other")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"env": "prod", "region": "elsewhere"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	}
}
