// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/jsonedit"
)

// written are the writes that are edited: an Application before the write, which is compared and has a history, and the
// operation.
func written() []*argo.Application {
	var all []*argo.Application
	compared, values := deploy(), values()
	bare := single() // no source at all: the API server takes it
	bare.Spec.Source, bare.Status.Sync.ComparedTo.Source, bare.Status.Sync.Revision = nil, argo.ApplicationSource{}, ""
	for _, app := range []*argo.Application{single(), multi(), application(), multiSource(), hydrated(), bare} {
		if len(app.Status.History) == 0 {
			at := app.Status.Sync
			entry := argo.RevisionHistory{
				Revision: at.Revision, Revisions: at.Revisions, Source: at.ComparedTo.Source, Sources: at.ComparedTo.Sources,
			}
			older := entry
			older.Revision, older.Revisions = commit("c"), []string{commit("c"), commit("d")}
			app.Status.History = argo.RevisionHistories{older, entry}
		}
		status := app.Status.Sync
		for _, sync := range []*argo.SyncOperation{
			{},
			{Revision: status.Revision, Revisions: status.Revisions, Source: app.Spec.Source, Sources: app.Spec.Sources},
			{Revision: commit("c"), Revisions: []string{commit("c"), commit("d")}},
			{Revision: commit("c"), Source: &compared},
			{Revisions: []string{commit("c"), commit("d")}, Sources: argo.ApplicationSources{compared, values}},
			{Manifests: []string{"{}"}},
			nil,
		} {
			write := app.DeepCopy()
			write.Operation = &argo.Operation{
				Sync: sync, Retry: argo.RetryStrategy{Limit: 5, Refresh: sync != nil && sync.Revision == "" && len(sync.Revisions) == 0},
			}
			all = append(all, write)
		}
	}
	return all
}

// writeFrom makes of bytes the object and the old object of a write: the first byte chooses it, the others edit it.
func writeFrom(t *testing.T, data []byte) (object, old []byte) {
	t.Helper()
	all := written()
	var first byte
	if len(data) > 0 {
		first, data = data[0], data[1:]
	}
	write := all[int(first)%len(all)]
	before := write.DeepCopy()
	before.Operation = nil
	editor := jsonedit.Editor{
		Within: []string{"operation", "status", "spec.source", "spec.sources", "spec.sourceHydrator", "spec.destination"},
		Values: []any{"HEAD", "main", commit("a"), commit("b"), []any{commit("a")}, []any{commit("a"), commit("b")}, []any{commit("a"), ""}},
	}
	edited, err := editor.Edit(data, encoded(t, write), encoded(t, before))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return edited[0], edited[1]
}

// FuzzWrite edits writes of operations field by field.
func FuzzWrite(f *testing.F) {
	for first := range len(written()) {
		f.Add([]byte{byte(first)})
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		f.Add(randomBytes(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		object, old := writeFrom(t, data)
		checkWrite(t, object, old)
	})
}

// FuzzDecode decodes arbitrary bytes.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "null", "{}", "[]", `{"operation":null}`, `{"operation":{}}`,
		`{"operation":{"sync":null}}`, `{"spec":null,"status":null,"operation":{"sync":{}}}`} {
		f.Add([]byte(text), []byte("{}"))
	}
	for _, app := range written() {
		raw, err := json.Marshal(app)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw[:len(raw)/2])
		app.Operation = nil
		old, err := json.Marshal(app)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, old)
	}
	f.Fuzz(func(t *testing.T, object, old []byte) { checkWrite(t, object, old) })
}

// TestRandomWrites checks many seeded writes, and that enough of them were worth checking. Go's own fuzzing is slow
// here: it resets the coverage of all that Argo CD's types import with each run.
func TestRandomWrites(t *testing.T) {
	random, rounds := rand.New(rand.NewPCG(7, 8)), 1500
	if testing.Short() {
		rounds /= 5
	}
	seen := map[string]int{}
	for range rounds {
		object, old := writeFrom(t, randomBytes(random))
		for _, what := range checkWrite(t, object, old) {
			seen[what]++
		}
	}
	t.Log(seen)
	for _, what := range []string{"a new pin", "pinned", "rolls back", "redeploys", "misfit", "not decoded"} {
		NewWithT(t).Expect(seen[what]).To(BeNumerically(">", rounds/200), what)
	}
}

func randomBytes(random *rand.Rand) []byte {
	data := make([]byte, 1+random.IntN(30))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// checkWrite checks the properties of the decoding for one write, and says what it has met.
func checkWrite(t *testing.T, object, old []byte) (met []string) {
	t.Helper()
	g := NewWithT(t)
	for _, raw := range [][]byte{object, old} {
		var whole argo.Application
		if json.Unmarshal(raw, &whole) == nil {
			Sibling(&whole)
		}
	}
	app, err := Decode(object)
	before, errBefore := Decode(old)
	if err != nil || errBefore != nil || app == nil {
		return []string{"not decoded"}
	}
	op := Tracking{}.Target(app, before).Operation
	pin := NewPin(app, before, nil)
	if app.Operation == nil || app.Operation.Sync == nil {
		g.Expect(op.Pinned || op.RollsBack || op.Redeploys).To(BeFalse(), "no sync")
		g.Expect(pin.Patches).To(BeEmpty(), "no sync")
		return []string{"no sync"}
	}
	if !fits(app) {
		g.Expect(op.Pinned || op.RollsBack || op.Redeploys).To(BeFalse(), "revisions that do not fit the sources: %s", object)
		met = append(met, "misfit")
	}
	if len(pin.Patches) > 0 {
		checkPin(g, app, before, pin, object)
		met = append(met, "a new pin")
	}
	for what, is := range map[string]bool{"pinned": op.Pinned, "rolls back": op.RollsBack, "redeploys": op.Redeploys} {
		if is {
			met = append(met, what)
		}
	}
	return met
}

// fits reports whether an operation names one revision for each of its sources, as Argo CD takes them: the operation's
// own sources, else those of the spec; revisions for many, revision for one.
func fits(app *Application) bool {
	sync, spec := app.Operation.Sync, app.spec()
	sources, many := len(spec.GetSources()), spec.HasMultipleSources()
	switch {
	case len(sync.Sources) > 0:
		sources, many = len(sync.Sources), true
	case sync.Source != nil:
		sources, many = 1, false
	}
	named := []string{sync.Revision}
	if many {
		named = sync.Revisions
	}
	for _, revision := range named {
		if revision == "" {
			return false
		}
	}
	return sources > 0 && len(named) == sources && len(sync.Manifests) == 0
}

// checkPin checks a Pin that changes something.
func checkPin(g *WithT, app, before *Application, pin Pin, object []byte) {
	sync := app.Operation.Sync
	g.Expect(sync.Manifests).To(BeEmpty(), "it brings manifests: %s", object)
	named := append(slices.Clone(sync.Revisions), sync.Revision)
	if pin.Named {
		for _, revision := range pin.Revisions {
			g.Expect(named).To(ContainElement(revision), "the revisions that it names")
		}
	} else {
		g.Expect(named).To(HaveEach(""), "it names a revision: %s", object)
		g.Expect(sync.Source == nil && len(sync.Sources) == 0).To(BeTrue(), "it brings its own: %s", object)
		compared := before.Status.Sync
		g.Expect(pin.Revisions).To(Equal(revisions(compared.Revision, compared.Revisions)), "the compared revisions")
		g.Expect(pin.Revisions).To(HaveLen(len(app.spec().GetSources())), "one for each source")
	}

	raw := patched(g, object, pin)
	g.Expect(without(g, raw, "operation")).To(Equal(without(g, object, "operation")), "nothing else changes")
	after, err := Decode(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fits(after)).To(BeTrue())
	g.Expect(Tracking{}.Target(pin.Pinned(app), before)).To(Equal(Tracking{}.Target(after, before)),
		"what is judged is what is stored")
	g.Expect(Tracking{}.Target(after, before).Operation.Pinned).To(BeTrue(), "pinned: %s", raw)
	g.Expect(after.Operation.Retry.Refresh).To(BeFalse(), "a retry would resolve again")
	g.Expect(NewPin(after, before, nil).Patches).To(BeEmpty(), "it is idempotent")
}

// without is a JSON object without one of its fields.
func without(g *WithT, raw []byte, field string) map[string]any {
	var object map[string]any
	g.Expect(json.Unmarshal(raw, &object)).To(Succeed())
	delete(object, field)
	return object
}
