// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/environment"
)

// manifests are those of config/enforce, or of config/start. They are for Kubernetes 1.30 and later, do not keep
// maxUpdate, have no waves, and report to nobody; otherwise Helm renders them from the chart, with the same values.
func manifests(ctx context.Context, e *environment.Environment, o Options) ([]byte, error) {
	folder := "enforce"
	if o.Starts {
		folder = "start"
	}
	if e.HasAdmissionPolicies() && !o.KeepsMaxUpdate && !o.Notifies && !o.UI && !o.Waves {
		return Kustomize(filepath.Join(e.Root, "config", folder))
	}
	helm, err := NewHelm(e)
	if err != nil {
		return nil, err
	}
	text, err := helm.Run(ctx, "template", "stepgate", helm.Chart, "--namespace=stepgate",
		"--kube-version="+e.Version().String(), "--skip-tests", "--set=config.mode=enforce",
		fmt.Sprintf("--set=start.enabled=%t", o.Starts), fmt.Sprintf("--set=config.maxUpdate=%t", o.KeepsMaxUpdate),
		fmt.Sprintf("--set=waves.enabled=%t", o.Waves),
		fmt.Sprintf("--set=notifications.enabled=%t", o.Notifies),
		fmt.Sprintf("--set=ui.enabled=%t,ui.tokenSecret.name=ui,ui.actions.enabled=%t", o.UI, o.Acts))
	return []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: stepgate\n---\n" + text), err
}

// Kustomize is what `kubectl kustomize` makes of a folder.
func Kustomize(folder string) ([]byte, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", folder, err)
	}
	return objects.AsYaml()
}

// Objects are the objects of a manifest.
func Objects(text []byte) ([]map[string]any, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all []map[string]any
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, fmt.Errorf("%.200s: %w", document, err)
		}
		if object != nil {
			all = append(all, object)
		}
	}
}

// The values in the manifests that name stepgate's own objects, its namespace and its account.
var (
	ownName    = regexp.MustCompile(`^stepgate(-\S+)?$`)
	ownText    = regexp.MustCompile(`'stepgate(-ca|-barrier|-notifications)?'`)
	ownAccount = regexp.MustCompile(`system:serviceaccount:stepgate:stepgate\b`)
)

// rename gives the objects of a manifest the name of an instance, and puts them into the namespace of that name. key is
// the field that a value is in.
func rename(value any, key, name string) any {
	switch v := value.(type) {
	case map[string]any:
		for field := range v {
			v[field] = rename(v[field], field, name)
		}
	case []any:
		for i := range v {
			v[i] = rename(v[i], key, name)
		}
	case string:
		switch key {
		case "name", "namespace", "policyName", "resourceNames":
			return ownName.ReplaceAllString(v, name+"${1}")
		}
		return ownAccount.ReplaceAllString(ownText.ReplaceAllString(v, "'"+name+"${1}'"),
			"system:serviceaccount:"+name+":"+name)
	}
	return value
}

// read decodes the objects of a manifest for an instance, strictly.
func read(scheme *runtime.Scheme, text []byte, name string) ([]client.Object, error) {
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	manifests, err := Objects(text)
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, manifest := range manifests {
		renamed := &unstructured.Unstructured{Object: rename(manifest, "", name).(map[string]any)}
		document, err := renamed.MarshalJSON()
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", document, err)
		}
		objects = append(objects, object.(client.Object))
	}
	return objects, nil
}
