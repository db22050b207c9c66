// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
)

// mostVerifications bounds the objects that VerifyAnnotation names: each is read live.
const mostVerifications = 20

// Verification is one entry of VerifyAnnotation.
type Verification struct {
	policy.Verification
	// Resource is the kind of the objects, and Namespace where they are.
	Resource  schema.GroupResource
	Namespace string
	// Name is of one object; empty if Selector selects them.
	Name     string
	Selector labels.Set
	// If says yes or no by a CEL expression over the object; nil for Argo CD's own health of it.
	If *expression.Program
	// For is the UID of the ApplicationSet. What stepgate has created for another one says nothing to it.
	For string
	// Template is the AnalysisTemplate of which stepgate creates an AnalysisRun; empty if others create the objects.
	Template string
}

// AnyNamespace among Config.VerifyNamespaces is for whoever does not know the installation.
const AnyNamespace = "*"

// Templated are the objects that stepgate creates from AnalysisTemplates.
var Templated = schema.GroupResource{Group: "argoproj.io", Resource: "analysisruns"}

// howToVerify says how an entry is written.
const howToVerify = `write "3=analysisruns.argoproj.io/smoke", or "3=jobs.batch?suite=smoke" for all with a label`

// verify reads VerifyAnnotation. Where it cannot be read, every step waits until it is repaired.
func (a *annotations) verify(allowed []string) (all []Verification, verify policy.Verify) {
	text, ok := a.get(VerifyAnnotation)
	if !ok {
		return nil, verify
	}
	all, err := a.parseVerify(text, allowed)
	if err != nil {
		a.note(VerifyAnnotation, err)
		return nil, policy.Verify{Unreadable: policy.ClientText(err.Error())}
	}
	for _, v := range all {
		verify.Of = append(verify.Of, v.Verification)
	}
	return all, verify
}

// parseVerify reads entries, separated by semicolons or lines. It compiles none before it has read all.
func (a *annotations) parseVerify(text string, allowed []string) (all []Verification, err error) {
	var conditions []string
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if len(all) == mostVerifications {
			return nil, fmt.Errorf("it names more than %d", mostVerifications)
		}
		v, condition, err := a.parseVerification(entry)
		switch {
		case err != nil:
			return nil, err
		case v.Namespace != a.of.Namespace && !slices.Contains(allowed, v.Namespace) &&
			!slices.Contains(allowed, AnyNamespace):
			return nil, fmt.Errorf("namespace %q may not be named (config.verify.namespaces)", v.Namespace)
		case slices.ContainsFunc(all, func(o Verification) bool { return o.Verification == v.Verification }):
			return nil, fmt.Errorf("%.100q is named twice for %s", v.Object, policy.StepName(v.Step))
		}
		all, conditions = append(all, v), append(conditions, condition)
	}
	if len(all) == 0 {
		return nil, errors.New("it names nothing: " + howToVerify)
	}
	for i, condition := range conditions {
		if condition == "" {
			continue
		}
		if all[i].If, err = a.expressions.Compile(all[i].Resource, condition); err != nil {
			return nil, fmt.Errorf("%.100q: %w", all[i].Object, err)
		}
	}
	return all, nil
}

// parseVerification reads one entry: STEP=RESOURCE.GROUP[/NAMESPACE]/NAME or STEP=RESOURCE.GROUP[/NAMESPACE]?LABELS, and
// then create=TEMPLATE and if EXPRESSION, which is the condition.
func (a *annotations) parseVerification(entry string) (v Verification, condition string, err error) {
	number, rest, ok := strings.Cut(entry, "=")
	if !ok {
		return v, "", fmt.Errorf("%.100q has no step: %s", entry, howToVerify)
	}
	if v.Step, err = parseStep(number, &a.of.ApplicationSet); err != nil {
		return v, "", err
	}
	rest, condition, _ = strings.Cut(rest, " if ")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return v, "", fmt.Errorf("%.100q names no object: %s", entry, howToVerify)
	}
	v.Object, v.For = words[0], a.of.UID
	if err := v.parseObject(a.of.Namespace); err != nil {
		return v, "", err
	}
	err = v.parseCreate(words[1:], a.of.Namespace)
	return v, strings.TrimSpace(condition), err
}

// parseCreate reads what comes after the object.
func (v *Verification) parseCreate(words []string, namespace string) error {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if key != "create" || v.Template != "" || len(validation.IsDNS1123Subdomain(value)) > 0 {
			return fmt.Errorf("%.100q is not known: after the object come \"create=TEMPLATE\" and \"if EXPRESSION\"", word)
		}
		v.Template = value
	}
	switch {
	case v.Template == "":
	case v.Resource != Templated || len(v.Selector) == 0:
		return fmt.Errorf("create=%s makes a new AnalysisRun for each revision: select them by a label, such as "+
			"analysisruns.argoproj.io?check=smoke", v.Template)
	case v.Namespace != namespace:
		return fmt.Errorf("create=%s needs an AnalysisTemplate in the ApplicationSet's own namespace: stepgate creates "+
			"nothing in namespace %s", v.Template, v.Namespace)
	}
	return nil
}

func (v *Verification) parseObject(namespace string) error {
	v.Namespace = namespace
	object, selector, selects := strings.Cut(v.Object, "?")
	parts := strings.Split(object, "/")
	v.Resource = schema.ParseGroupResource(parts[0])
	if parts = parts[1:]; !selects && len(parts) > 0 {
		v.Name, parts = parts[len(parts)-1], parts[:len(parts)-1]
	}
	if len(parts) == 1 {
		v.Namespace, parts = parts[0], nil
	}
	var err error
	if selects {
		v.Selector, err = labels.ConvertSelectorToLabelsMap(selector)
	}
	named := len(validation.IsDNS1123Subdomain(v.Name)) == 0
	switch {
	case err != nil || selects && len(v.Selector) == 0:
		return fmt.Errorf("%.100q are no labels such as \"suite=smoke\"", selector)
	case len(parts) > 0, !selects && !named, len(validation.IsDNS1123Label(v.Namespace)) > 0,
		len(validation.IsDNS1123Subdomain(v.Resource.String())) > 0:
		return fmt.Errorf("%.100q is no object: %s", v.Object, howToVerify)
	}
	return nil
}
