package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/render"
)

// Objects are the objects of Argo CD in some files.
type Objects struct {
	Sets         []*argo.ApplicationSet
	Applications []*argo.Application

	// dropped are the fields that are meant for the strategy of an ApplicationSet, and that the API server drops.
	dropped map[*argo.ApplicationSet][]string
}

// Read adds the objects of a file: YAML documents, JSON, lists of either, or the output of argocd appset generate. It
// leaves objects of other kinds out. file is for messages.
func (o *Objects) Read(file string, in io.Reader) error {
	documents := yamlreader.NewYAMLReader(bufio.NewReader(in))
	for number := 1; ; number++ {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		text := raw
		if err == nil {
			raw, err = yaml.YAMLToJSON(text)
		}
		if err == nil {
			err = o.add(raw)
		}
		if err != nil && render.HelmMark(text) >= 0 {
			return fmt.Errorf("%s, document %d is a Helm template: render it first, with helm template, and give the output",
				file, number)
		}
		if err != nil {
			return fmt.Errorf("%s, document %d: %w", file, number, err)
		}
	}
}

// add takes one object, or all of a list.
func (o *Objects) add(raw []byte) error {
	var several []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := json.Unmarshal(raw, &several); err != nil {
			return err
		}
		return o.addAll(several)
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("it is no Kubernetes object")
	}
	kind, other := render.Kind(raw), render.OtherVersion(raw)
	switch {
	case kind != "" && other != "":
		return fmt.Errorf("an %s of %s: the API server knows only %s", kind, other, argo.SchemeGroupVersion)
	case strings.HasSuffix(list.Kind, "List"):
		return o.addAll(list.Items)
	case kind == render.ApplicationSet:
		return o.addSet(raw)
	case kind == render.Application:
		app := &argo.Application{}
		o.Applications = append(o.Applications, app)
		// As the API server reads it: a field in other letters is another field.
		return named(app, kjson.UnmarshalCaseSensitivePreserveInts(raw, app))
	}
	return nil
}

func (o *Objects) addSet(raw []byte) error {
	set := &argo.ApplicationSet{}
	unknown, err := render.DecodeSet(raw, set)
	if err != nil {
		_, problem := render.Invalid(err)
		return errors.New(problem)
	}
	o.Sets = append(o.Sets, set)
	if fields := slices.DeleteFunc(unknown, func(path string) bool { return !render.OfStrategy(path) }); len(fields) > 0 {
		if o.dropped == nil {
			o.dropped = map[*argo.ApplicationSet][]string{}
		}
		o.dropped[set] = fields
	}
	return named(set, nil)
}

func (o *Objects) addAll(several []json.RawMessage) error {
	for _, raw := range several {
		if err := o.add(raw); err != nil {
			return err
		}
	}
	return nil
}

// named refuses an object that could not be decoded, and one without a name.
func named(object interface{ GetName() string }, err error) error {
	if err == nil && object.GetName() == "" {
		return errors.New("metadata.name is missing")
	}
	return err
}
