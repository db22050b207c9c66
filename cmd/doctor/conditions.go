// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// The match conditions of the chart. A test renders the chart and compares.
const (
	operationSet     = "has(object.operation)"
	operationChanged = "oldObject == null || !has(oldObject.operation) || object.operation != oldObject.operation"
	owned            = "(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, " +
		"has(o.kind) && o.kind == 'ApplicationSet' && has(o.apiVersion) && o.apiVersion.startsWith('argoproj.io/'))) " +
		"|| (oldObject != null && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(o, " +
		"has(o.kind) && o.kind == 'ApplicationSet' && has(o.apiVersion) && o.apiVersion.startsWith('argoproj.io/'))) " +
		"|| (has(object.metadata.annotations) && 'stepgate.io/after' in object.metadata.annotations)"
	// notExempt is the name of the condition that lets webhook.exemptApplications through.
	notExempt = "not-exempt"
)

// Conditions are the match conditions that the chart writes for --application-namespaces.
func Conditions(namespaces []string) []admissionv1.MatchCondition {
	var all []admissionv1.MatchCondition
	if text := namespaceCondition(namespaces); text != "" {
		all = append(all, admissionv1.MatchCondition{Name: "gated-namespace", Expression: text})
	}
	return append(all,
		admissionv1.MatchCondition{Name: "operation-set", Expression: operationSet},
		admissionv1.MatchCondition{Name: "operation-changed", Expression: operationChanged},
		admissionv1.MatchCondition{Name: "owned-by-applicationset", Expression: owned},
	)
}

// namespaceCondition is CEL for namespaces if one of them is a pattern: the chart's stepgate.namespaceCondition.
func namespaceCondition(namespaces []string) string {
	if !slices.ContainsFunc(namespaces, func(n string) bool { return strings.ContainsAny(n, `*?/[`) }) {
		return ""
	}
	var matches []string
	for _, pattern := range namespaces {
		expression := "^" + strings.NewReplacer("[!", "[^", "*", ".*", "?", ".").Replace(pattern) + "$"
		if strings.HasPrefix(pattern, "/") {
			expression = strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/")
		}
		quoted, _ := json.Marshal(expression)
		matches = append(matches, fmt.Sprintf("request.namespace.matches(%s)", quoted))
	}
	return strings.Join(matches, " || ")
}

// conditions compares the match conditions with those of the chart.
func (r *Registration) conditions(of *Installation) Check {
	const name = "match conditions"
	if of.Flags == nil {
		return of.unsettled(name)
	}
	want := map[string]string{}
	for _, c := range Conditions(of.Flags.Namespaces) {
		want[c.Name] = oneLine(c.Expression)
	}
	var changed, more, exempt []string
	for _, c := range r.Webhook.MatchConditions {
		expression, isChart := want[c.Name]
		switch {
		case isChart && expression != oneLine(c.Expression):
			changed = append(changed, c.Name)
		case c.Name == notExempt:
			exempt = append(exempt, exemptOf(c.Expression))
		case !isChart:
			more = append(more, c.Name)
		}
		delete(want, c.Name)
	}
	missing := make([]string, 0, len(want))
	for n := range want {
		missing = append(missing, n)
	}
	slices.Sort(missing)
	repair := of.upgrade()
	switch {
	case len(changed) > 0:
		return problem(name, "%s differs from the chart's condition, so other writes go through the gate than should.",
			list(changed)).
			do("Install the chart again. A chart of another version than this command line may have other conditions.").
			by(repair)
	case len(missing) > 0:
		return problem(name, "%s is missing, so the API server sends writes that are none of stepgate's business.",
			list(missing)).do("Install the chart again.").by(repair)
	case len(more) > 0:
		return warning(name, "%s is not of the chart: a write for which it is false is not gated.", list(more)).
			do("Read it, and take it out of webhook.matchConditions unless it is meant.",
				fmt.Sprintf("kubectl get %s %s -o yaml", r.resource(), r.Name))
	case len(exempt) > 0:
		return warning(name, "Applications are never gated: %s.", list(exempt)).
			do("This is right for the Application that installs stepgate, and for what stepgate needs to run. " +
				"Take any other out of webhook.exemptApplications.")
	}
	return ok(name, "They are those of the chart.")
}

// exemptNames are the texts of the chart's condition not-exempt: NAMESPACE/NAME, or regular expressions for globs.
var exemptNames = regexp.MustCompile(`'([^'/]+/[^']+)'`)

// exemptOf is the list of names and globs in the chart's condition not-exempt.
func exemptOf(expression string) string {
	glob := strings.NewReplacer(`\.`, ".", ".*", "*", ".", "?", "[^", "[!", "^", "", "$", "")
	var all []string
	for _, match := range exemptNames.FindAllStringSubmatch(expression, -1) {
		name := match[1]
		if strings.HasPrefix(name, "^") {
			name = glob.Replace(name)
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// list joins a few names; it does not list more than five.
func list(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

func (r *Installation) helm() string {
	if r.Helm == "" {
		return r.Name
	}
	return r.Helm
}

func (r *Installation) namespace() string {
	if r.Namespace == "" {
		return "NAMESPACE"
	}
	return r.Namespace
}
