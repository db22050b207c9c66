// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/yaml"
)

// component is a folder of config/components: what changes in the base if the chart is rendered with other values.
type component struct {
	name string
	// why is the comment of its kustomization.
	why    string
	values []string
}

var components = []component{
	{name: "enforce", why: "Enforce mode.", values: []string{"config.mode=enforce"}},
	{name: "start", why: "Enforce mode, and starts what is due.", values: []string{
		"config.mode=enforce", "start.enabled=true",
	}},
	{name: "cert-manager", why: "A certificate of cert-manager.", values: []string{"certs.mode=certManager"}},
	{name: "monitoring", why: "For prometheus-operator and Grafana.", values: []string{
		"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.renderMode=alwaysRender",
		"metrics.prometheusRule.enabled=true", "metrics.grafanaDashboard.enabled=true",
	}},
}

// overlays are the folders to apply: the base with components.
var overlays = map[string][]string{
	"": {}, "enforce": {"enforce"}, "start": {"start"},
	"cert-manager": {"cert-manager"}, "cert-manager/enforce": {"cert-manager", "enforce"},
}

const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: stepgate
`

var (
	source = regexp.MustCompile(`(?m)^# Source: stepgate/templates/(\S+)\n`)
	// These would not be true: no Helm is at work.
	helmOnly = regexp.MustCompile(`(?m)^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n`)
	blank    = regexp.MustCompile(`\n{2,}`)
)

// document is an object of the chart.
type document struct {
	file, text string
	object     map[string]any
}

// key names the object.
func (d document) key() string {
	metadata, _ := d.object["metadata"].(map[string]any)
	return fmt.Sprint(d.object["apiVersion"], " ", d.object["kind"], " ", metadata["namespace"], "/", metadata["name"])
}

// target is d for a patch of kustomize.
func (d document) target() map[string]any {
	metadata, _ := d.object["metadata"].(map[string]any)
	return map[string]any{"kind": d.object["kind"], "name": metadata["name"]}
}

// deletion is a patch that takes d away.
func (d document) deletion() (string, error) {
	metadata, _ := d.object["metadata"].(map[string]any)
	name := map[string]any{"name": metadata["name"]}
	if metadata["namespace"] != nil {
		name["namespace"] = metadata["namespace"]
	}
	text, err := yaml.Marshal(map[string]any{
		"$patch": "delete", "apiVersion": d.object["apiVersion"], "kind": d.object["kind"], "metadata": name,
	})
	return string(text), err
}

// manifests are the files of config/ by path.
func manifests(helm string) (map[string]string, error) {
	base, err := render(helm, nil)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(config, "base")
	files := map[string]string{filepath.Join(folder, "namespace.yaml"): namespace}
	files[filepath.Join(folder, "kustomization.yaml")] = kustomization("stepgate in audit mode with a CA of its own, "+
		"for Kubernetes 1.30 and later.",
		map[string]any{
			"kind": "Kustomization", "resources": append([]string{"namespace.yaml"}, write(files, folder, base)...),
		})
	for _, c := range components {
		if err := c.write(helm, base, files); err != nil {
			return nil, fmt.Errorf("component %s: %w", c.name, err)
		}
	}
	for folder, names := range overlays {
		up := strings.Repeat("../", strings.Count(folder, "/")+min(1, len(folder)))
		var all []string
		for _, name := range names {
			all = append(all, up+"components/"+name)
		}
		why := "stepgate with: " + strings.Join(names, ", ") + "."
		if len(names) == 0 {
			why = "stepgate in audit mode."
		}
		overlay := map[string]any{"kind": "Kustomization", "resources": []string{up + "base"}}
		if len(all) > 0 {
			overlay["components"] = all
		}
		files[filepath.Join(config, folder, "kustomization.yaml")] = kustomization(why, overlay)
	}
	return files, nil
}

// write writes objects into a folder, and returns the names of the files.
func write(files map[string]string, folder string, documents []document) []string {
	names := map[string]bool{}
	for _, d := range documents {
		path := filepath.Join(folder, d.file)
		if names[d.file] {
			files[path] += "---\n"
		}
		names[d.file] = true
		files[path] += d.text
	}
	return slices.Sorted(maps.Keys(names))
}

// write writes what a component adds to the base, takes from it and changes in it.
func (c component) write(helm string, base []document, files map[string]string) error {
	rendered, err := render(helm, c.values)
	if err != nil {
		return err
	}
	folder, before := filepath.Join(config, "components", c.name), map[string]document{}
	for _, d := range base {
		before[d.key()] = d
	}
	var added []document
	var patches []map[string]any
	for _, d := range rendered {
		old, ok := before[d.key()]
		delete(before, d.key())
		switch {
		case !ok:
			added = append(added, d)
		case d.text != old.text:
			patch, err := difference(old, d)
			if err != nil {
				return err
			}
			if patch != "" {
				patches = append(patches, map[string]any{"target": d.target(), "patch": patch})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		patch, err := before[key].deletion()
		if err != nil {
			return err
		}
		patches = append(patches, map[string]any{"patch": patch})
	}
	content := map[string]any{"kind": "Component"}
	if names := write(files, folder, added); len(names) > 0 {
		content["resources"] = names
	}
	if len(patches) > 0 {
		content["patches"] = patches
	}
	files[filepath.Join(folder, "kustomization.yaml")] = kustomization(c.why, content)
	return nil
}

// difference is a patch (RFC 6902) from one object to another, as YAML. It adds a webhook as a whole.
func difference(from, to document) (string, error) {
	patch, before := addedWebhooks(from.object, to.object)
	a, errA := json.Marshal(before)
	b, errB := json.Marshal(to.object)
	rest, err := jsonpatch.CreatePatch(a, b)
	// Fields are compared in no order. Those of one list are in theirs.
	slices.SortStableFunc(rest, func(a, b jsonpatch.Operation) int { return cmp.Compare(listOf(a.Path), listOf(b.Path)) })
	if patch = append(patch, rest...); errors.Join(errA, errB, err) != nil || len(patch) == 0 {
		return "", errors.Join(errA, errB, err)
	}
	text, err := yaml.Marshal(patch)
	return string(text), err
}

// listOf is the list that a path leads to an item of, or else the path.
func listOf(path string) string {
	if _, err := strconv.Atoi(filepath.Base(path)); err == nil {
		return filepath.Dir(path)
	}
	return path
}

// addedWebhooks are the webhooks that one configuration has and the other lacks, and the other one with them.
func addedWebhooks(from, to map[string]any) (patch []jsonpatch.Operation, with map[string]any) {
	webhooks, _ := from["webhooks"].([]any)
	wanted, _ := to["webhooks"].([]any)
	nameOf := func(webhook any) any { return webhook.(map[string]any)["name"] }
	webhooks = slices.Clone(webhooks)
	for i, w := range wanted {
		if !slices.ContainsFunc(webhooks, func(has any) bool { return nameOf(has) == nameOf(w) }) {
			patch = append(patch, jsonpatch.NewOperation("add", fmt.Sprint("/webhooks/", i), w))
			webhooks = slices.Insert(webhooks, i, w)
		}
	}
	with = maps.Clone(from)
	if len(patch) > 0 {
		with["webhooks"] = webhooks
	}
	return patch, with
}

// kustomization is a file of kustomize.
func kustomization(why string, content map[string]any) string {
	content["apiVersion"] = "kustomize.config.k8s.io/v1beta1"
	if content["kind"] == "Component" {
		content["apiVersion"] = "kustomize.config.k8s.io/v1alpha1"
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		panic(err) // it has strings only
	}
	return "# Rendered from charts/stepgate by make generate. " + why + "\n" + string(text)
}

// render is the chart by object, in the order of the files.
func render(helm string, values []string) ([]document, error) {
	args := []string{"template", "stepgate", chart, "--namespace=stepgate", "--kube-version=1.30", "--skip-tests"}
	for _, value := range values {
		args = append(args, "--set="+value)
	}
	text, err := exec.Command(helm, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("helm template: %w (is helm built? make helm-tools)", err)
	}
	var all []document
	for _, part := range strings.Split(string(text), "\n---\n") {
		part = strings.TrimPrefix(part, "---\n")
		template := source.FindStringSubmatch(part)
		if template == nil {
			return nil, fmt.Errorf("a document does not say its template: %.80q", part)
		}
		d := document{file: template[1], text: helmOnly.ReplaceAllString(source.ReplaceAllString(part, ""), "")}
		d.text = strings.Trim(blank.ReplaceAllString(d.text, "\n"), "\n") + "\n"
		if err := yaml.Unmarshal([]byte(d.text), &d.object); err != nil {
			return nil, fmt.Errorf("%s: %w", d.file, err)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b document) int { return cmp.Compare(a.file, b.file) })
	return all, nil
}
