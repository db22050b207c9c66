// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocks "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/history"
)

var (
	now  = time.Unix(1_800_000_000, 0)
	apps = Set{UID: "set-1", Namespace: "argocd", Name: "apps"}
)

func revision(n int) []policy.Source {
	return []policy.Source{{Key: "https://git.example/apps main", Revision: fmt.Sprintf("%040x", n)}}
}

// member is an Application that has completed so many revisions.
func member(n, completions int) cluster.Kept {
	k := cluster.Kept{UID: types.UID(fmt.Sprintf("app-%d", n)), Name: fmt.Sprintf("app-%d", n), Kept: history.Kept{
		OperatedAt: now.Add(-time.Minute), FullAt: now.Add(-time.Minute), Idle: true, HealthySince: now.Add(-time.Minute),
		Parameters: "p", Around: "a", Found: argocd.Content{Revised: "r", Parameters: "p", Around: "a"},
		BrokenAt: now.Add(-time.Hour), AppliedAt: now.Add(-time.Hour), Ran: revision(completions),
		Compared: [][]policy.Source{revision(0), revision(completions)},
	}}
	for i := range completions {
		k.Completions = append(k.Completions, policy.Completion{
			Sources: revision(i), OperatedAt: now.Add(-time.Hour), Since: now.Add(-time.Hour), Seen: now.Add(-time.Minute),
			By: "alice", Altered: i == 0, Doubted: i == 1,
		})
	}
	return k
}

func members(n, completions int) (all []cluster.Kept) {
	for i := range n {
		all = append(all, member(i, completions))
	}
	return all
}

func encoded(t *testing.T, members ...cluster.Kept) []byte {
	t.Helper()
	b, err := Encode(apps, 0, members)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return b
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	g := NewWithT(t)
	d, err := Decode(encoded(t, members(3, 4)...), apps.UID, 0, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Members(now)).To(Equal(members(3, 4)))
	g.Expect(d.Sources).To(HaveLen(4+1), "each once, and what it ran")
	g.Expect(encoded(t, members(3, 4)...)).To(Equal(encoded(t, members(3, 4)...)))
}

// TestTimesAreRoundedToTheStricter: what was seen, was seen earlier, and what was broken, was broken longer.
func TestTimesAreRoundedToTheStricter(t *testing.T) {
	g := NewWithT(t)
	m := member(0, 1)
	m.BrokenAt, m.Completions[0].Seen = m.BrokenAt.Add(time.Millisecond), m.Completions[0].Seen.Add(-time.Millisecond)
	d, err := Decode(encoded(t, m), apps.UID, 0, now)
	g.Expect(err).NotTo(HaveOccurred())
	read := d.Members(now)[0]
	g.Expect(read.BrokenAt).To(Equal(now.Add(-time.Hour + time.Second)))
	g.Expect(read.Completions[0].Seen).To(Equal(now.Add(-time.Minute - time.Second)))
	early := d.Members(now.Add(-time.Hour))[0]
	g.Expect(early.Completions[0].Seen).To(Equal(now.Add(-time.Hour)), "by another clock")
}

// edited is a valid document after somebody has changed its text.
func edited(t *testing.T, edit func(text string) string) []byte {
	t.Helper()
	g := NewWithT(t)
	r, err := gzip.NewReader(bytes.NewReader(encoded(t, members(2, 2)...)))
	g.Expect(err).NotTo(HaveOccurred())
	var text bytes.Buffer
	_, err = text.ReadFrom(r)
	g.Expect(err).NotTo(HaveOccurred())
	return zipped(t, edit(text.String()))
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(w.Close()).To(Succeed())
	return out.Bytes()
}

// TestBadInputCountsForNothing: nothing of what stepgate has not written like this counts.
func TestBadInputCountsForNothing(t *testing.T) {
	whole := encoded(t, members(2, 2)...)
	replace := func(old, other string) func(string) string {
		return func(text string) string {
			NewWithT(t).Expect(text).To(ContainSubstring(old))
			return strings.Replace(text, old, other, 1)
		}
	}
	for name, tc := range map[string]struct {
		text []byte
		part int
		set  types.UID
		want string
	}{
		"nothing":                       {nil, 0, apps.UID, "it cannot be read: EOF"},
		"no gzip":                       {[]byte("{}"), 0, apps.UID, "it cannot be read: unexpected EOF"},
		"cut off":                       {whole[:len(whole)/2], 0, apps.UID, "it cannot be read: unexpected EOF"},
		"bytes that are changed":        {append(bytes.Clone(whole[:40]), whole[41:]...), 0, apps.UID, "it cannot be read: "},
		"no JSON":                       {zipped(t, "rollouts"), 0, apps.UID, "it cannot be read: invalid character"},
		"another type":                  {zipped(t, `{"version":1,"applications":3}`), 0, apps.UID, "it cannot be read: json: "},
		"a newer version":               {edited(t, replace(`"version":1`, `"version":2`)), 0, apps.UID, "it is of another version: 2, not 1"},
		"no version":                    {zipped(t, `{}`), 0, apps.UID, "it is of another version: 0, not 1"},
		"a field of tomorrow":           {edited(t, replace(`"idle"`, `"lazy"`)), 0, apps.UID, `it cannot be read: json: unknown field "lazy"`},
		"of another ApplicationSet":     {whole, 0, "set-2", `it cannot be read: it is part 0 of "set-1"`},
		"another part":                  {whole, 1, apps.UID, `it cannot be read: it is part 0 of "set-1"`},
		"an Application twice":          {edited(t, replace(`"uid":"app-1"`, `"uid":"app-0"`)), 0, apps.UID, `has no UID, or that of another one`},
		"an Application without a UID":  {edited(t, replace(`"uid":"app-1"`, `"uid":""`)), 0, apps.UID, `has no UID, or that of another one`},
		"sources that are not there":    {edited(t, replace(`"of":1`, `"of":7`)), 0, apps.UID, "a completion has no sources"},
		"sources before the first":      {edited(t, replace(`"of":1`, `"of":-1`)), 0, apps.UID, "a completion has no sources"},
		"a history that is not there":   {edited(t, replace(`"ran":[`, `"ran":[99,`)), 0, apps.UID, "its history has no sources"},
		"a comparison with nothing":     {edited(t, replace(`"compared":[`, `"compared":[99,`)), 0, apps.UID, "its history has no sources"},
		"a long text":                   {edited(t, replace(`"alice"`, `"`+strings.Repeat("a", 300)+`"`)), 0, apps.UID, "a text is longer"},
		"a completion of the future":    {edited(t, replace(`"since":`, `"since":9`)), 0, apps.UID, "of the future"},
		"a bomb":                        {zipped(t, strings.Repeat(" ", largestText+1)), 0, apps.UID, "it is longer than 8388608 bytes"},
		"more than a ConfigMap takes":   {make([]byte, largestPart+1), 0, apps.UID, "it has 524289 bytes"},
		"more completions than written": {many(t, 2, mostCompletions+1), 0, apps.UID, "more completions"},
		"more Applications":             {many(t, 2*mostApplications+1, 0), 0, apps.UID, "more Applications"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, err := Decode(tc.text, tc.set, tc.part, now)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(d).To(BeNil())
		})
	}
}

// TestALogIsReadAsItWasWritten, or counts for nothing, and a metric says so.
func TestALogIsReadAsItWasWritten(t *testing.T) {
	g := NewWithT(t)
	log := &Log{Version: Version, UID: apps.UID, Set: "argocd/apps", Since: now.UTC(), Rollouts: []Rollout{}}
	for i := range 3 * MostRollouts {
		log.Rollouts = append(log.Rollouts, Rollout{
			Source: "s", Revision: fmt.Sprint(i), ComparedAt: now.Add(time.Duration(i) * time.Minute).UTC(), Steps: []Step{{Step: 1}},
		})
	}
	text, err := EncodeLog(log)
	g.Expect(err).NotTo(HaveOccurred())
	read, err := DecodeLog(text, apps.UID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Rollouts).To(Equal(log.Rollouts[2*MostRollouts:]), "the newest")
	g.Expect(read.Since).To(BeTemporally("==", log.Rollouts[2*MostRollouts-1].ComparedAt))
	for wants, edit := range map[string]func(*Log){
		"it is the log of":          func(l *Log) { l.UID = "other" },
		"it is of another version":  func(l *Log) { l.Version++ },
		"none that stepgate writes": func(l *Log) { l.Rollouts[0].Result = "fine" },
		"more than stepgate writes": func(l *Log) { l.Rollouts[0].Steps[0].By = make([]string, MostPeople+1) },
	} {
		bad := Log{Version: Version, UID: apps.UID, Rollouts: []Rollout{{Revision: "r", Steps: []Step{{Step: 1}}}}}
		edit(&bad)
		text, err := EncodeLog(&bad)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = DecodeLog(text, apps.UID)
		g.Expect(err).To(MatchError(ContainSubstring(wants)))
		l := New(clocks.NewFakePassiveClock(now), nil)
		l.Stored(Object{ID: apps.id(0), Version: "1", Completions: encoded(t), Rollouts: text})
		version, unreadable, _ := l.Problems()
		g.Expect(version+unreadable).To(Equal(1), wants)
	}
}

// many is a document that nobody has bounded.
func many(t *testing.T, applications, completions int) []byte {
	t.Helper()
	d := Document{Version: Version, UID: apps.UID, Applications: []Application{}}
	tab := &table{of: map[string]int{}}
	for i := range applications {
		m := member(i, completions)
		d.add(tab, m.UID, m.Name, &m.Kept, completions)
	}
	d.Sources = tab.all
	text, err := json.Marshal(d)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return zipped(t, string(text))
}

func FuzzDecode(f *testing.F) {
	valid, err := Encode(apps, 0, members(2, 2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add(valid[:20])
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Decode(text, apps.UID, 0, now)
		if (d == nil) == (err == nil) {
			t.Fatalf("%v and %v", d, err)
		}
		if err == nil {
			d.Members(now)
		}
	})
}

// TestOfThousandsTheNewestAreKept: what does not fit is left out, the oldest first. All parts of 5,000 Applications of one
// repository are far below what is allowed.
func TestOfThousandsTheNewestAreKept(t *testing.T) {
	g := NewWithT(t)
	size, largest, took := 0, 0, time.Now()
	parts := split(members(5000, mostCompletions))
	for i, part := range parts {
		text, err := Encode(apps, i, part)
		g.Expect(err).NotTo(HaveOccurred())
		d, err := Decode(text, apps.UID, i, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(d.Applications[0].Completions).To(HaveLen(mostCompletions))
		size, largest = size+len(text), max(largest, len(text))
	}
	t.Logf("5,000 Applications: %d parts, %d bytes, the largest %d; written and read in %s", len(parts), size, largest,
		time.Since(took))
	g.Expect(size).To(BeNumerically("<", 2<<20))

	different := members(mostApplications, mostCompletions) // each Application has a repository of its own
	for i := range different {
		for k := range different[i].Completions {
			different[i].Completions[k].Sources = []policy.Source{{
				Key: fmt.Sprintf("https://git.example/%x", i*7919), Revision: fmt.Sprintf("%x", (i*31+k)*1_000_003*(k+7)),
			}}
		}
	}
	text, err := Encode(apps, 0, different)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<=", largestPart))
}

// TestTheLedgerIsWrittenAndRead: what has changed is written once, and another replica begins with it.
func TestTheLedgerIsWrittenAndRead(t *testing.T) {
	g := NewWithT(t)
	var stored Object
	first, writes := New(clocks.NewFakePassiveClock(now), nil), 0
	known := &fixed{members: members(2, 2)}
	w := NewWriter(first, objects(func(o Object) (string, error) {
		if o.Version != stored.Version {
			return "", ErrConflict
		}
		writes, stored = writes+1, o
		stored.Version = fmt.Sprint("v", writes)
		return stored.Version, nil
	}), known, func(string) {})
	write := func() {
		w.Changed(types.NamespacedName{Namespace: "argocd", Name: "apps"})
		w.Write(t.Context())
	}
	write()
	write()                                    // nothing has changed
	known.members[0].Completions[0].Seen = now // nobody needs that
	write()
	g.Expect(writes).To(Equal(1))
	known.members[0].Broken = true
	write()
	g.Expect(writes).To(Equal(2))
	stored.Version = "of somebody else"
	write()
	known.members[0].Broken = false
	write()
	g.Expect(writes).To(Equal(2), "until it was read again")
	first.Stored(stored)
	write()
	g.Expect(writes).To(Equal(3))

	second := New(clocks.NewFakePassiveClock(now), nil)
	second.Stored(stored)
	p := &argocd.Projection{ObjectMeta: metav1.ObjectMeta{UID: "app-0"}, Owner: "set-1"}
	g.Expect(second.Of(p).Completions).To(HaveLen(2))
	p.Owner = "set-2"
	g.Expect(second.Of(p)).To(BeNil(), "of another ApplicationSet")
	g.Expect(second.Size()).To(Equal(len(stored.Completions)))
}

// TestConfigMapsOfOthers: an object whose name and label do not agree is none of the ledger.
func TestConfigMapsOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		name, label string
		want        bool
	}{
		"of the ledger":      {"stepgate-ledger-set-1-0", "set-1", true},
		"a later part":       {"stepgate-ledger-set-1-12", "set-1", true},
		"without the label":  {"stepgate-ledger-set-1-0", "", false},
		"of another one":     {"stepgate-ledger-set-1-0", "set-2", false},
		"no number":          {"stepgate-ledger-set-1-x", "set-1", false},
		"a number like that": {"stepgate-ledger-set-1-01", "set-1", false},
		"another name":       {"mine", "set-1", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ours := ObjectOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: tc.name, Labels: map[string]string{Label: tc.label},
			}})
			NewWithT(t).Expect(ours).To(Equal(tc.want))
		})
	}
}

// TestWhatSomebodyElseWrites: a newer version stays, what cannot be read is written again, and so is what is gone.
func TestWhatSomebodyElseWrites(t *testing.T) {
	g := NewWithT(t)
	l, writes := New(clocks.NewFakePassiveClock(now), nil), 0
	w := NewWriter(l, objects(func(Object) (string, error) { writes++; return fmt.Sprint("v", writes), nil }),
		&fixed{members: members(1, 1)}, func(string) {})
	name := types.NamespacedName{Namespace: "argocd", Name: "apps"}
	write := func() int {
		before := writes
		w.Changed(name)
		w.Write(t.Context())
		return writes - before
	}
	newer := edited(t, func(s string) string { return strings.Replace(s, `"version":1`, `"version":9`, 1) })
	l.Stored(Object{ID: apps.id(0), Version: "1", Completions: newer})
	g.Expect(write()).To(Equal(0))
	version, unreadable, lost := l.Problems()
	g.Expect([]int{version, unreadable, lost}).To(Equal([]int{1, 0, 0}))

	l.Stored(Object{ID: apps.id(0), Version: "2", Completions: []byte("x")})
	version, unreadable, lost = l.Problems()
	g.Expect([]int{version, unreadable, lost}).To(Equal([]int{0, 1, 0}))
	g.Expect(write()).To(Equal(1))
	g.Expect(write()).To(Equal(0))

	l.Gone(apps.id(0))
	g.Expect(write()).To(Equal(1))
	version, unreadable, lost = l.Problems()
	g.Expect([]int{version, unreadable, lost}).To(Equal([]int{0, 0, 1}))
}

// fixed is Known of one ApplicationSet.
type fixed struct{ members []cluster.Kept }

func (f *fixed) Set(types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	set := &argocd.ApplicationSet{}
	set.Namespace, set.Name, set.UID = apps.Namespace, apps.Name, string(apps.UID)
	return set, cluster.Version{}
}

func (f *fixed) Sets() []*argocd.ApplicationSet    { return nil }
func (f *fixed) Kept(cluster.Owner) []cluster.Kept { return f.members }

type objects func(o Object) (string, error)

func (o objects) Write(_ context.Context, object Object) (string, error) { return o(object) }
func (o objects) RemovePart(context.Context, string) error               { return nil }
