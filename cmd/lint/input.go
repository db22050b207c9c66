package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kyaml "sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/render"
)

// Input collects ApplicationSets and Applications.
type Input struct {
	Subjects []*Subject
	// Other counts the objects of other kinds, and, after Link, the Applications of no ApplicationSet that is checked.
	Other    int
	Failures []Failure
	// Exclude are glob patterns of files and folders in directories that are left out: by name, or by path within the
	// directory.
	Exclude []string

	// Partial says that only some of a cluster were asked for: only these are looked at, and others exist.
	Partial bool

	applications []owned
	// others are the Applications of no ApplicationSet that is checked. They can be named.
	others []types.NamespacedName
	// live says that the objects come from a cluster, where it is no news that there are others.
	live bool
}

// owned is an Application and its owner.
type owned struct {
	Application
	namespace string
	owner     *metav1.OwnerReference
	// orphan says that it has no owner at all.
	orphan bool
	// file, document and node say where it stands in a file.
	file     string
	document int
	node     *yaml.Node
}

// Text reads the documents of one file.
func (in *Input) Text(file string, data []byte) {
	for _, d := range documents(data) {
		if failure := in.document(file, d); failure != nil {
			in.Failures = append(in.Failures, *failure)
		}
	}
}

// document reads the objects of one document. It decodes no others than those of Argo CD.
func (in *Input) document(file string, d document) *Failure {
	node, failure := d.tree(file)
	if failure != nil {
		return failure
	}
	o := object{file: file, document: d.number, node: node}
	_, spec := child(node, "spec")
	other := !strings.HasPrefix(o.text("apiVersion"), "argoproj.io/") && (o.text("kind") != "" || spec == nil)
	if other && o.items() == nil {
		in.Other++
		return nil
	}
	// Argo CD's objects are decoded as kubectl and the API server decode them: texts as in YAML 1.1.
	raw, err := kyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return d.failure(file, err)
	}
	o.raw = raw
	in.object(o)
	return nil
}

// object is an object of a document, as a tree with lines, and as JSON.
type object struct {
	file     string
	document int
	node     *yaml.Node
	raw      json.RawMessage
}

func (o object) text(field string) string {
	if _, value := child(o.node, field); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

func (o object) isArgo(kinds ...string) bool {
	return strings.HasPrefix(o.text("apiVersion"), "argoproj.io/") && slices.Contains(kinds, o.text("kind"))
}

// items are the entries of a list, nil if it is none. argocd appset list -o yaml prints a bare list.
func (o object) items() []*yaml.Node {
	if o.node.Kind == yaml.SequenceNode && slices.ContainsFunc(o.node.Content, func(entry *yaml.Node) bool {
		_, spec := child(entry, "spec")
		return spec != nil
	}) {
		return o.node.Content
	}
	_, items := child(o.node, "items")
	if items == nil || items.Kind != yaml.SequenceNode || o.text("apiVersion") != "v1" &&
		!o.isArgo("ApplicationSetList", "ApplicationList") {
		return nil
	}
	return items.Content
}

// entries are the texts of the items.
func (o object) entries() ([]json.RawMessage, error) {
	if o.node.Kind == yaml.SequenceNode {
		var bare []json.RawMessage
		err := json.Unmarshal(o.raw, &bare)
		return bare, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	err := json.Unmarshal(o.raw, &list)
	return list.Items, err
}

// object reads one object, or the entries of a list.
func (in *Input) object(o object) {
	items := o.items()
	kind := render.Kind(o.raw)
	other := render.OtherVersion(o.raw)
	switch {
	case items != nil:
		list, err := o.entries()
		if err != nil || len(list) != len(items) {
			in.Failures = append(in.Failures, Failure{
				File: o.file, Document: o.document, Line: o.node.Line, Message: "a list whose items cannot be read",
			})
			return
		}
		for i, item := range items {
			if item.Kind == yaml.AliasNode && item.Alias != nil {
				item = item.Alias
			}
			entry := object{file: o.file, document: o.document, node: item, raw: list[i]}
			if entry.items() != nil {
				in.Other++ // a list in a list is no object
				continue
			}
			in.object(entry)
		}
	case kind == render.ApplicationSet && other != "":
		in.Failures = append(in.Failures, Failure{
			File: o.file, Document: o.document, Line: o.node.Line,
			Message: fmt.Sprintf("an ApplicationSet of %s: the API server knows only %s", short(other), argo.SchemeGroupVersion),
		})
	case kind == render.ApplicationSet:
		in.applicationSet(o)
	case kind == render.Application:
		in.application(o)
	default:
		in.Other++
	}
}

func (in *Input) applicationSet(o object) {
	s := &Subject{Set: &argo.ApplicationSet{}, File: o.file, Document: o.document, node: o.node}
	var err error
	if s.unknown, err = render.DecodeSet(o.raw, s.Set); err != nil {
		s.Set = &argo.ApplicationSet{ObjectMeta: o.meta()}
		s.invalid = invalidBecause(err)
		if path := located(o.node, s.invalid.path); path != nil {
			s.invalid.path = path
		}
	}
	in.Subjects = append(in.Subjects, s)
}

// meta is the name of an object that cannot be decoded.
func (o object) meta() metav1.ObjectMeta {
	_, meta := child(o.node, "metadata")
	if meta == nil {
		return metav1.ObjectMeta{}
	}
	m := object{node: meta}
	return metav1.ObjectMeta{Name: m.text("name"), Namespace: m.text("namespace")}
}

// located finds the entry of a list that a path without numbers leads to: the first one whose value is no text, if
// there is one.
func located(node *yaml.Node, fields Path) Path {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.SequenceNode:
		for i, entry := range node.Content {
			if p := located(entry, fields); p != nil {
				return to(i).and(p...)
			}
		}
		return nil
	case len(fields) == 0:
		if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" {
			return nil
		}
		return Path{}
	}
	if _, next := child(node, fields[0]); next != nil {
		if p := located(next, fields[1:]); p != nil {
			return to(fields[0]).and(p...)
		}
	}
	return nil
}

func (in *Input) application(o object) {
	var a struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(o.raw, &a); err != nil {
		in.Failures = append(in.Failures, Failure{
			File: o.file, Document: o.document, Line: o.node.Line, Message: "an Application whose metadata cannot be read: " +
				short2(err.Error()),
		})
		return
	}
	owned := ownedApplication(&a.Metadata)
	owned.file, owned.document, owned.node = o.file, o.document, o.node
	in.applications = append(in.applications, owned)
}

// invalidObject is the part of an object that does not fit Argo CD's types. Its path has no numbers of entries.
type invalidObject struct {
	path    Path
	message string
}

func invalidBecause(err error) *invalidObject {
	field, message := render.Invalid(err)
	invalid := &invalidObject{message: message}
	if field != "" {
		invalid.path = parsePath(field)
	}
	return invalid
}
