package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// variant is one folder of manifests: the chart, rendered with some values.
type variant struct {
	folder string
	values []string
	// only are the files that are kept; nil means all.
	only []string
	// why is the comment of its kustomization.
	why string
}

var variants = []variant{
	{folder: config, why: "stepgate in audit mode with --cert-mode self, for Kubernetes 1.30 and later. Add monitoring/ as a further resource where prometheus-operator is."},
	{folder: filepath.Join(config, "enforce"), why: "The same in enforce mode.", values: []string{"config.mode=enforce"}},
	{folder: filepath.Join(config, "cert-manager"), why: "stepgate in audit mode with a certificate of cert-manager.", values: []string{"certs.mode=certManager"}},
	{folder: filepath.Join(config, "cert-manager", "enforce"), why: "The same in enforce mode.", values: []string{"certs.mode=certManager", "config.mode=enforce"}},
	{folder: filepath.Join(config, "monitoring"), why: "For prometheus-operator and Grafana.", only: []string{"monitoring.yaml"}, values: []string{
		"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.renderMode=alwaysRender", "metrics.prometheusRule.enabled=true", "metrics.grafanaDashboard.enabled=true",
	}},
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

// manifests are the files of config/ by path.
func manifests(helm string) (map[string]string, error) {
	files := map[string]string{}
	for _, v := range variants {
		rendered, err := v.render(helm)
		if err != nil {
			return nil, err
		}
		resources := []string{}
		if v.only == nil {
			rendered["namespace.yaml"] = namespace
			resources = append(resources, "namespace.yaml")
		}
		for name, text := range rendered {
			files[filepath.Join(v.folder, name)] = text
			if name != "namespace.yaml" {
				resources = append(resources, name)
			}
		}
		slices.Sort(resources[min(1, len(resources)-1):])
		files[filepath.Join(v.folder, "kustomization.yaml")] = fmt.Sprintf(
			"# Rendered from charts/stepgate by make generate. %s\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n  - %s\n",
			v.why, strings.Join(resources, "\n  - "))
	}
	return files, nil
}

// render is the chart by template.
func (v variant) render(helm string) (map[string]string, error) {
	args := []string{"template", "stepgate", chart, "--namespace=stepgate", "--kube-version=1.30", "--skip-tests"}
	for _, value := range v.values {
		args = append(args, "--set="+value)
	}
	text, err := exec.Command(helm, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("helm template: %w (is helm built? make helm-tools)", err)
	}
	files := map[string]string{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		document = strings.TrimPrefix(document, "---\n")
		template := source.FindStringSubmatch(document)
		if template == nil {
			return nil, fmt.Errorf("a document does not say its template: %.80q", document)
		}
		name := template[1]
		if v.only != nil && !slices.Contains(v.only, name) {
			continue
		}
		document = helmOnly.ReplaceAllString(source.ReplaceAllString(document, ""), "")
		document = strings.Trim(blank.ReplaceAllString(document, "\n"), "\n") + "\n"
		if files[name] != "" {
			document = "---\n" + document
		}
		files[name] += document
	}
	return files, nil
}
