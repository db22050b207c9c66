// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// exemptions says what a release leaves out now.
func (f *Facts) exemptions(r *Installation) []Check {
	checks := []Check{f.exemptSets(r), f.ignoredNamespaces(r), f.ungated(r)}
	return in(r.subject(), "Off or exempt", append(checks, f.reported(r)...)...)
}

// reported counts the Applications that are judged by what an agent reports of them. Where there are none, there is
// nothing to say.
func (f *Facts) reported(r *Installation) []Check {
	some := 0
	for _, p := range f.Applications.Value {
		if p.Application.Reported && p.Owner != "" && r.gated(p.Namespace) {
			some++
		}
	}
	if some == 0 {
		return nil
	}
	return []Check{ok("reported", "%s reported by an agent (argocd.argoproj.io/skip-reconcile), judged by what that "+
		"says, and never pinned.", count(some, "Application is", "Applications are"))}
}

// exemptSets names the ApplicationSets that annotations take out of the gate.
func (f *Facts) exemptSets(r *Installation) Check {
	const name = "ApplicationSets"
	if f.ApplicationSets.Err != nil {
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	}
	var config settings.Config
	if r.Flags != nil {
		config = r.Flags.Gate
	}
	parser, sets, parents, by := settings.NewParser(config, settings.At(f.Now)), 0, 0, "RollingSync"
	var exempt, commands, wrong []string
	for _, set := range f.orders(r) {
		if set.Parent() {
			parents++
		} else if sets++; set.Waves {
			by = "RollingSync or waves"
		}
		kind, called := named(set)
		kinds, problems := parser.Exemptions(set)
		for _, e := range kinds {
			exempt = append(exempt, strings.TrimSpace(fmt.Sprintf("%s/%s: %s %s", set.Namespace, called, e.Kind, e.Detail)))
			commands = append(commands, fmt.Sprintf("kubectl -n %s annotate %s %s %s-", set.Namespace, kind, called,
				annotationOf(e.Kind)))
		}
		for _, p := range problems {
			switch p.Annotation {
			case settings.AfterAnnotation, settings.WavesAnnotation, settings.MaxUpdateAnnotation:
				continue // Facts.order and Facts.waves say it
			}
			wrong = append(wrong, fmt.Sprintf("%s/%s: %s is %s", set.Namespace, called, p.Annotation, p.Text))
		}
	}
	switch {
	case len(exempt) > 0:
		return warning(name, "%s.", strings.Join(exempt, "; ")).do("To gate them like the others:",
			slices.Compact(commands)...)
	case len(wrong) > 0:
		return warning(name, "%s.", strings.Join(wrong, "; ")).do("Correct the annotation, or remove it.")
	case sets+parents == 0:
		return skipped(name, "No ApplicationSet has RollingSync steps or waves where this release gates.")
	}
	ordered := count(sets, "ApplicationSet has ", "ApplicationSets have ") + by
	if parents > 0 {
		ordered += ", and " + count(parents, "parent Application has waves", "parent Applications have waves")
	}
	return ok(name, "%s; none is switched off or bypassed.", ordered)
}

// annotationOf is the annotation that a kind of exemption comes from.
func annotationOf(kind string) string {
	switch kind {
	case "bypass":
		return settings.BypassAnnotation
	case "exclusion":
		return settings.ExcludeAnnotation
	}
	return settings.ModeAnnotation
}

// ignoredNamespaces names the gated namespaces whose emergency switch is on.
func (f *Facts) ignoredNamespaces(r *Installation) Check {
	const name = "switched off"
	if f.Namespaces.Err != nil {
		return notRead(name, "the namespaces", f.Namespaces.Err)
	}
	var on, other, commands []string
	for _, n := range f.Namespaces.Value {
		value, labelled := n.Labels[record.IgnoreLabel]
		switch {
		case !labelled || !r.gated(n.Name):
			continue
		case presence.SwitchedOff(n.Labels):
			on = append(on, n.Name)
		default:
			other = append(other, n.Name+" ("+oneLine(value)+")")
		}
		commands = append(commands, fmt.Sprintf("kubectl label namespace %s %s-", n.Name, record.IgnoreLabel))
	}
	switch {
	case len(on) > 0:
		return warning(name, "Namespace %s has the label %s: nothing is gated there.", list(on),
			presence.EmergencySwitch).do("If the emergency is over:", commands...)
	case len(other) > 0:
		return warning(name, "The label %s of namespace %s has no effect: only %s switches stepgate off.", record.IgnoreLabel,
			list(other), record.IgnoreValue).do("Remove it, so that nobody relies on it:", commands...)
	}
	return ok(name, "No namespace has the label %s.", record.IgnoreLabel)
}

// ungated names the namespaces with ordered ApplicationSets that no release gates.
func (f *Facts) ungated(r *Installation) Check {
	const name = "not gated"
	if f.ApplicationSets.Err != nil {
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	}
	if r.Flags == nil {
		return r.unsettled(name)
	}
	var open []string
	for _, n := range f.orderedNamespaces() {
		if !slices.ContainsFunc(f.Installations, func(r *Installation) bool { return r.gated(n) }) {
			open = append(open, n)
		}
	}
	if len(open) > 0 {
		return warning(name, "Namespace %s has %s and is not one of argocd.applicationNamespaces (%s).",
			list(open), f.orderedSets(), list(r.Flags.Namespaces)).
			do("Gate it as well, by one release only, unless it belongs to another Argo CD that needs no order.").
			by(r.upgrade(fmt.Sprintf("argocd.applicationNamespaces={%s}",
				strings.Join(append(slices.Clone(r.Flags.Namespaces), open...), ","))))
	}
	return ok(name, "Every namespace with %s is gated.", f.orderedSets())
}

// gatedTwice names the namespaces with ordered ApplicationSets that several releases gate. A release without a
// Deployment does not count.
func (f *Facts) gatedTwice() Check {
	const name = "gated twice"
	var twice []string
	for _, n := range f.orderedNamespaces() {
		var by []string
		for _, r := range f.Installations {
			if r.Flags != nil && r.Flags.Gated(n) {
				by = append(by, r.helm())
			}
		}
		if len(by) > 1 {
			twice = append(twice, fmt.Sprintf("%s (by %s)", n, list(by)))
		}
	}
	if len(twice) > 0 {
		return warning(name, "Namespace %s: the API server asks each of these releases about every sync there, and each "+
			"refreshes the Applications.", list(twice)).
			do("Name each namespace in argocd.applicationNamespaces of one release only. A release without that list " +
				"gates all namespaces.")
	}
	return ok(name, "No namespace is gated by more than one release.")
}
