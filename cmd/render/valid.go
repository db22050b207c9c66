// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// NameProblem says why the API server refuses the name of an ApplicationSet or an Application; empty if it does not.
func NameProblem(name string) string { return first(validation.IsDNS1123Subdomain(name)) }

// LabelProblem says why the API server refuses the key or the value of a label; empty if it does not.
func LabelProblem(key, value string) string {
	return first(slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)))
}

// first is the first reason of the API server, without the example and the pattern that it quotes.
func first(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	reason, _, _ := strings.Cut(problems[0], " (e.g.")
	return reason
}
