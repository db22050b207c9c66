// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// parent is an Application that deploys the ApplicationSet of docs/gitops.md, in one of several ways.
type parent struct {
	key, title string
	quick      bool
	// options are its sync options, and ignores a member of ignoreDifferences with its value; nobody ignores anything
	// without one.
	options []any
	ignores map[string]any
}

// parents are all ways. The page shows the one with the key "respected".
func parents(quick bool) []parent {
	pointers := map[string]any{"jsonPointers": []any{"/metadata/annotations/stepgate.io~1pause"}}
	expressions := map[string]any{"jqPathExpressions": []any{`.metadata.annotations["stepgate.io/pause"]`}}
	const respect, serverSide = "RespectIgnoreDifferences=true", "ServerSideApply=true"
	all := []parent{
		{key: "plain", title: "self-heal, and nothing else", quick: true},
		{key: "server-side", title: "`ServerSideApply=true`", options: []any{serverSide}, quick: true},
		{key: "replace", title: "`Replace=true`", options: []any{"Replace=true"}},
		{key: "ignored", title: "`ignoreDifferences` on `pause`", ignores: pointers},
		{key: "respected", title: "`ignoreDifferences` on `pause`, `RespectIgnoreDifferences=true`", ignores: pointers, options: []any{respect}, quick: true},
		{key: "by-jq", title: "the same with `jqPathExpressions`", ignores: expressions, options: []any{respect}},
		{key: "both", title: "the same with `jsonPointers` and `ServerSideApply=true`", ignores: pointers, options: []any{respect, serverSide}},
	}
	if quick {
		all = slices.DeleteFunc(all, func(p parent) bool { return !p.quick })
	}
	return all
}

// family is a parent that is played: its ApplicationSet, and the repositories of both.
type family struct {
	*suite
	parent
	ctx  context.Context
	mode mode
	page *gitOpsPage

	sets, manifests *argocd.Repository
	// revision is the commit that the Applications deploy.
	revision string
	// git are the annotations that the ApplicationSet has in Git, beside those of the page.
	git map[string]string

	// foreign are annotations that Git does not have, own is one that it has, and born is a pause of a second
	// ApplicationSet, which Git has from the beginning: each is changed by hand. The verdicts named next are of the
	// time after the next commit. added says whether a pause that Git has later is deployed.
	foreign, foreignNext, own, born, bornNext, added bool
	problem                                          error
}

// play installs the parent, lets people change annotations, and looks at what becomes of them.
func (f *family) play() {
	f.install()
	set, second := f.name(), f.second()
	byHand := map[string]string{
		"pause": "all: the database is being moved", "approved": "3@" + f.revision,
	}
	for _, key := range []string{"pause", "approved"} {
		f.annotate(set, key, byHand[key])
	}
	stay := f.annotations(set)
	for key, value := range byHand {
		if stay[prefix+key] != value {
			script.Fail("%s is %q right after it was set to %q", key, stay[prefix+key], value)
		}
	}
	f.annotate(second, "pause", "")
	// The way back of this one shows that Argo CD has looked at the ApplicationSet since.
	f.annotate(set, "soak", "2=1s")
	f.own = f.stays(set, map[string]string{prefix + "soak": "2=1s"})
	lifted := map[string]string{prefix + "pause": ""}
	f.born = f.stays(second, lifted)
	delete(stay, prefix+"soak")
	f.foreign = f.has(set, stay)
	f.commit(map[string]string{"max-failures": "1"})
	f.foreignNext, f.bornNext = f.has(set, stay), f.has(second, lifted)
	f.annotate(set, "pause", "")
	f.commit(map[string]string{"max-failures": "2", "pause": "3"})
	f.added = f.has(set, map[string]string{prefix + "pause": "3"})
	if f.mode != off {
		f.approveInGit()
	}
}

// approveInGit has Git approve a step: the application controller may not.
func (f *family) approveInGit() {
	f.git[prefix+"approved"] = "3@" + f.revision + ",2@" + f.revision
	revision := f.push()
	f.sync(revision, func(o *argo.OperationState) bool { return strings.Contains(o.Message, "may not approve") })
}

// settles is how long Argo CD may take to put something back. It waits longer from one time to the next.
const settles = 15 * time.Second

// stays waits until annotations have other values, and reports whether that did not happen.
func (f *family) stays(set string, annotations map[string]string) bool {
	return f.within(settles, func() bool { return !f.has(set, annotations) }) != nil
}

// has reports whether annotations have values; one that is not there is empty.
func (f *family) has(set string, annotations map[string]string) bool {
	live := f.annotations(set)
	for key, value := range annotations {
		if live[key] != value {
			return false
		}
	}
	return true
}

// commit changes annotations in Git, and waits until the parent has deployed that.
func (f *family) commit(annotations map[string]string) {
	for key, value := range annotations {
		f.git[prefix+key] = value
	}
	f.deploy(f.push())
}

// push commits the ApplicationSet of the page, with the annotations, and a second one that is paused.
func (f *family) push() string {
	set, second := f.page.set(f, f.name()), f.page.set(f, f.second())
	for o, more := range map[*unstructured.Unstructured]map[string]string{set: f.git, second: {prefix + "pause": "all"}} {
		annotations := o.GetAnnotations()
		maps.Copy(annotations, more)
		o.SetAnnotations(annotations)
	}
	// Its Applications would deploy the same as those of the first.
	second.SetAnnotations(withNext(second.GetAnnotations(), f.git[prefix+"max-failures"]))
	script.Must(unstructured.SetNestedSlice(second.Object, []any{
		map[string]any{"list": map[string]any{"elements": []any{}}},
	}, "spec", "generators"))
	return script.Get(f.sets.Commit(argocd.Main, files{
		"applicationsets/first.json":  string(script.Get(set.MarshalJSON())),
		"applicationsets/second.json": string(script.Get(second.MarshalJSON())),
	}))
}

// withNext adds the annotation that a commit changes.
func withNext(annotations map[string]string, budget string) map[string]string {
	if budget != "" {
		annotations[prefix+"max-failures"] = budget
	}
	return annotations
}

// name is the one of the ApplicationSet and of everything that belongs to it.
func (f *family) name() string { return "gitops-" + f.key }

// second is the name of the ApplicationSet that Git has with a pause from the beginning.
func (f *family) second() string { return f.name() + "-paused" }

// apply is the parent of the page in another way.
func (p parent) apply(app *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(app.Object, "spec", "ignoreDifferences")
	if p.ignores != nil {
		ignores := map[string]any{"group": "argoproj.io", "kind": "ApplicationSet"}
		for key, value := range p.ignores {
			ignores[key] = value
		}
		if err := unstructured.SetNestedSlice(app.Object, []any{ignores}, "spec", "ignoreDifferences"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(app.Object, slices.Clone(p.options), "spec", "syncPolicy", "syncOptions")
}

// row is the row of the page's table.
func (f *family) row() string {
	said := map[bool]string{true: "kept", false: "reverted"}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", f.title, said[f.foreign], said[f.foreignNext], said[f.own],
		said[f.born], said[f.bornNext],
		map[bool]string{true: "deployed", false: "not deployed"}[f.added])
}

// rowHeading is the heading of the page's table.
const rowHeading = "| the Application | set by hand, not in Git | after the next commit | changed by hand, in Git | " +
	"`pause` in Git from the beginning, removed by hand" +
	" | after the next commit | `pause` added in Git |"
