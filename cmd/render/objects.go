// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// Reader reads the ApplicationSets and Applications of files. What it cannot read is a Failure, and what is of another
// kind is counted: nothing is left out silently.
type Reader struct {
	// Exclude are glob patterns of files and folders in directories that are left out: by name, or by path within the
	// directory.
	Exclude []string

	Objects  []Object
	Failures []Failure
	// Other counts the objects of other kinds, and Kustomizations those of Kustomize among them.
	Other, Kustomizations int
}

// Object is an ApplicationSet or an Application as a tree with the lines of its file, and as JSON.
type Object struct {
	Kind string
	File string
	// Document is 1-based.
	Document int
	Node     *yaml.Node
	Raw      json.RawMessage
}

// Failure is an input that could not be read.
type Failure struct {
	File     string `json:"file"`
	Document int    `json:"document,omitempty"`
	Line     int    `json:"line,omitempty"`
	Message  string `json:"message"`
}

// Error is the failure in one line.
func (f Failure) Error() string {
	where := f.File
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	if f.Document > 0 {
		where += fmt.Sprintf(" (document %d)", f.Document)
	}
	return where + ": " + f.Message
}

// Text reads the documents of one file: YAML documents, JSON, lists of either, or what argocd prints.
func (r *Reader) Text(file string, data []byte) {
	for _, d := range documents(data) {
		if failure := r.document(file, d); failure != nil {
			r.Failures = append(r.Failures, *failure)
		}
	}
}

// document reads the objects of one document. It decodes no others than those of Argo CD.
func (r *Reader) document(file string, d document) *Failure {
	node, failure := d.tree(file)
	if failure != nil {
		return failure
	}
	o := Object{File: file, Document: d.number, Node: node}
	if node.Kind == yaml.ScalarNode {
		return o.failure("it is no Kubernetes object")
	}
	other := !strings.HasPrefix(o.Field("apiVersion"), group) && (o.Field("kind") != "" || Child(node, "spec") == nil)
	if other && o.items() == nil {
		return r.skip(&o)
	}
	if failure := d.twice(file, node); failure != nil {
		return failure
	}
	// Argo CD's objects are decoded as kubectl and the API server decode them: texts as in YAML 1.1.
	raw, err := kyaml.YAMLToJSON(d.text)
	if err != nil {
		return d.failure(file, err)
	}
	o.Raw = raw
	return r.object(o)
}

// group is the API group of Argo CD's objects.
const group = "argoproj.io/"

// misspelt says what is wrong with the kind or the apiVersion of what must be an ApplicationSet or an Application; empty
// if nothing is.
func (o *Object) misspelt() string {
	kind, version := o.Field("kind"), o.Field("apiVersion")
	spec := Child(o.Node, "spec")
	if spec == nil || kind == "" {
		return ""
	}
	ours := strings.HasPrefix(version, group)
	like := Nearest(kind, []string{ApplicationSet, Application})
	looks := Child(spec, "generators") != nil && Child(spec, "template") != nil ||
		Child(spec, "destination") != nil && Child(spec, "project") != nil
	switch {
	case kind != ApplicationSet && kind != Application && like != "" && (ours || looks):
		return fmt.Sprintf("the kind %.80q does not exist: did you mean %s?", kind, like)
	case (kind == ApplicationSet || kind == Application) && !ours && looks:
		return fmt.Sprintf("the apiVersion %.80q of an %s does not exist: write %s", version, kind, argo.SchemeGroupVersion)
	}
	return ""
}

// Field is the text of a field; empty if it has none.
func (o *Object) Field(name string) string {
	if value := Child(o.Node, name); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// Child is the value of a field; nil if there is none.
func Child(node *yaml.Node, field string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == field {
			return node.Content[i+1]
		}
	}
	return nil
}

// items are the entries of a list, nil if it is none. argocd appset list -o yaml prints a bare list.
func (o *Object) items() []*yaml.Node {
	if o.Node.Kind == yaml.SequenceNode && slices.ContainsFunc(o.Node.Content, func(entry *yaml.Node) bool {
		return Child(entry, "spec") != nil || Child(entry, "kind") != nil
	}) {
		return o.Node.Content
	}
	items := Child(o.Node, "items")
	ours := strings.HasPrefix(o.Field("apiVersion"), group) &&
		slices.Contains([]string{"ApplicationSetList", "ApplicationList"}, o.Field("kind"))
	if items == nil || items.Kind != yaml.SequenceNode || o.Field("apiVersion") != "v1" && !ours {
		return nil
	}
	return items.Content
}

// entries are the texts of the items.
func (o *Object) entries() ([]json.RawMessage, error) {
	if o.Node.Kind == yaml.SequenceNode {
		var bare []json.RawMessage
		err := json.Unmarshal(o.Raw, &bare)
		return bare, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	err := json.Unmarshal(o.Raw, &list)
	return list.Items, err
}

// object takes one object, or the entries of a list.
func (r *Reader) object(o Object) *Failure {
	items := o.items()
	if items == nil {
		o.Kind = Kind(o.Raw)
		switch other := OtherVersion(o.Raw); {
		case o.Kind == "":
			return r.skip(&o)
		case other != "":
			return o.failure(fmt.Sprintf("an %s of %.80s: the API server knows only %s", o.Kind, other,
				argo.SchemeGroupVersion))
		}
		r.Objects = append(r.Objects, o)
		return nil
	}
	list, err := o.entries()
	if err != nil || len(list) != len(items) {
		return o.failure("a list whose items cannot be read")
	}
	for i, item := range items {
		if item.Kind == yaml.AliasNode && item.Alias != nil {
			item = item.Alias
		}
		entry := Object{File: o.File, Document: o.Document, Node: item, Raw: list[i]}
		if failure := r.object(entry); failure != nil {
			r.Failures = append(r.Failures, *failure)
		}
	}
	return nil
}

// failure says why an object cannot be read.
func (o *Object) failure(message string) *Failure {
	return &Failure{File: o.File, Document: o.Document, Line: o.Node.Line, Message: message}
}

// skip counts an object of another kind, unless that is a misspelt one.
func (r *Reader) skip(o *Object) *Failure {
	if wrong := o.misspelt(); wrong != "" {
		return o.failure(wrong)
	}
	r.Other++
	if o.Field("kind") == "Kustomization" || strings.HasPrefix(o.Field("apiVersion"), "kustomize.config.k8s.io/") {
		r.Kustomizations++
	}
	return nil
}

// Nothing says that there was no ApplicationSet, and what there was.
func (r *Reader) Nothing() string {
	switch {
	case r.Kustomizations > 0:
		return "the files have no ApplicationSet, but a Kustomization: give -f the output of kustomize build, or pipe it " +
			"into -f -"
	case r.Other > 0:
		return "the files have no ApplicationSet, but objects of other kinds; give its file with -f"
	}
	return "the files have no ApplicationSet; give its file with -f"
}
