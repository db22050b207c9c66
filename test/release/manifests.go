package release

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/environment"
)

// manifests are those of config/enforce. They are for Kubernetes 1.30 and later; for an older API server, Helm renders them from the chart, with
// the same values.
func manifests(ctx context.Context, e *environment.Environment) ([][]byte, error) {
	if e.HasAdmissionPolicies() {
		return resources(filepath.Join(e.Root, "config", "enforce"))
	}
	helm, err := NewHelm(e)
	if err != nil {
		return nil, err
	}
	text, err := helm.Run(ctx, "template", "stepgate", helm.Chart, "--namespace=stepgate", "--kube-version="+e.Version().String(), "--skip-tests", "--set=config.mode=enforce")
	return [][]byte{[]byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: stepgate\n"), []byte(text)}, err
}

// resources are the files that a kustomization names.
func resources(folder string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		return nil, fmt.Errorf("%s/kustomization.yaml: %w", folder, err)
	}
	var files [][]byte
	for _, name := range kustomization.Resources {
		file, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// The places in the manifests that name stepgate's own objects and its namespace.
var (
	ownNames    = regexp.MustCompile(`(?m)^([ -]*(?:name|namespace|policyName): )stepgate(-\S+)?$`)
	ownResource = regexp.MustCompile(`(?m)^( *resourceNames: \[)stepgate`)
	ownText     = regexp.MustCompile(`'stepgate(-ca|-barrier)?'`)
	ownAccount  = regexp.MustCompile(`system:serviceaccount:stepgate:stepgate\b`)
)

// rename gives the objects of a manifest the name of an instance, and puts them into the namespace of that name.
func rename(text []byte, name string) []byte {
	text = ownNames.ReplaceAll(text, []byte("${1}"+name+"${2}"))
	text = ownResource.ReplaceAll(text, []byte("${1}"+name))
	text = ownText.ReplaceAll(text, []byte("'"+name+"${1}'"))
	return ownAccount.ReplaceAll(text, []byte("system:serviceaccount:"+name+":"+name))
}

// read decodes the objects of a manifest for an instance, strictly.
func read(scheme *runtime.Scheme, text []byte, name string) ([]client.Object, error) {
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rename(text, name))))
	var objects []client.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", document, err)
		}
		objects = append(objects, object.(client.Object))
	}
}
