// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/render"
)

// Input collects ApplicationSets and Applications.
type Input struct {
	Subjects []*Subject
	// Reader reads files. After Link, its Other are also the Applications of no ApplicationSet that is checked.
	render.Reader

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
	// parent is the one that Argo CD's tracking names, and tracked says that an annotation does.
	parent  string
	tracked bool
	// rival is another one, which the label names.
	rival string
	// declares are the annotations of stepgate of one that has waves.
	declares map[string]string
	// orphan says that it has no owner at all.
	orphan bool
	// file, document and node say where it stands in a file.
	file     string
	document int
	node     *yaml.Node
}

// Failure is an input that could not be read.
type Failure = render.Failure

// take decodes what was read from files.
func (in *Input) take() {
	for _, o := range in.Objects {
		if o.Kind == render.ApplicationSet {
			in.applicationSet(o)
		} else {
			in.application(o)
		}
	}
	in.Objects = nil
}

func (in *Input) applicationSet(o render.Object) {
	s := &Subject{Set: &argo.ApplicationSet{}, File: o.File, Document: o.Document, node: o.Node}
	var err error
	if s.unknown, err = render.DecodeSet(o.Raw, s.Set); err != nil {
		s.Set = &argo.ApplicationSet{ObjectMeta: metaOf(o.Node)}
		s.invalid = invalidBecause(err)
		if path := located(o.Node, s.invalid.path); path != nil {
			s.invalid.message = strings.Replace(s.invalid.message, s.invalid.path.String(), path.String(), 1)
			s.invalid.path = path
		}
	}
	in.Subjects = append(in.Subjects, s)
}

// metaOf is the name of an object that cannot be decoded.
func metaOf(node *yaml.Node) metav1.ObjectMeta {
	meta := render.Object{Node: render.Child(node, "metadata")}
	if meta.Node == nil {
		return metav1.ObjectMeta{}
	}
	return metav1.ObjectMeta{Name: meta.Field("name"), Namespace: meta.Field("namespace")}
}

// located finds the entry of a list, or of a map, that a path without numbers leads to: the first one whose value is no
// text, if there is one.
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
		switch {
		case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str":
			return nil
		case node.Kind == yaml.MappingNode: // such as annotations, of which one is no text
			for i := 0; i+1 < len(node.Content); i += 2 {
				if value := node.Content[i+1]; value.Kind == yaml.ScalarNode && value.ShortTag() != "!!str" {
					return to(node.Content[i].Value)
				}
			}
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

func (in *Input) application(o render.Object) {
	var a struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(o.Raw, &a); err != nil {
		in.Failures = append(in.Failures, Failure{
			File: o.File, Document: o.Document, Line: o.Node.Line, Message: "an Application whose metadata cannot be read: " +
				short2(err.Error()),
		})
		return
	}
	owned := ownedApplication(&a.Metadata)
	owned.file, owned.document, owned.node = o.File, o.Document, o.Node
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
