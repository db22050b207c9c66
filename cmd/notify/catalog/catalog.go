// SPDX-License-Identifier: Apache-2.0

// Package catalog has the triggers and templates about rollouts that stepgate ships, in the form of the ConfigMap of
// Argo CD's notifications. Package notify reads them.
package catalog

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed catalog.yaml
var text []byte

// Data is the data of a ConfigMap.
func Data() (map[string]string, error) {
	data := map[string]string{}
	if err := yaml.Unmarshal(text, &data); err != nil {
		return nil, fmt.Errorf("read catalog.yaml: %w", err)
	}
	return data, nil
}
