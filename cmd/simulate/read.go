package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		set := &argo.ApplicationSet{}
		o.Sets = append(o.Sets, set)
		return decode(raw, set)
	case kind == render.Application:
		app := &argo.Application{}
		o.Applications = append(o.Applications, app)
		return decode(raw, app)
	}
	return nil
}

func (o *Objects) addAll(several []json.RawMessage) error {
	for _, raw := range several {
		if err := o.add(raw); err != nil {
			return err
		}
	}
	return nil
}

func decode(raw []byte, into interface{ GetName() string }) error {
	// As the API server reads it: a field in other letters is another field.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err != nil {
		return err
	}
	if into.GetName() == "" {
		return errors.New("metadata.name is missing")
	}
	return nil
}
