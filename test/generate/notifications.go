// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/triggers"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/cmd/notify/catalog"
)

// notificationsPage has the triggers and templates that are shipped, and what they are told.
func notificationsPage() (string, error) {
	data, err := catalog.Data()
	if err != nil {
		return "", err
	}
	var conditions, templates [][]string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		name, isTrigger := strings.CutPrefix(key, "trigger.")
		if !isTrigger {
			templates = append(templates, []string{code(strings.TrimPrefix(key, "template."))})
			continue
		}
		var all []triggers.Condition
		if err := yaml.Unmarshal([]byte(data[key]), &all); err != nil {
			return "", err
		}
		for _, c := range all {
			conditions = append(conditions, []string{
				code(name), plain(c.Description), code(c.When), code(c.OncePer), code(strings.Join(c.Send, ", ")),
			})
		}
	}
	var told [][]string
	for _, v := range notify.Variables() {
		told = append(told, []string{code(v.Name), plain(v.Means)})
	}
	return "# Notifications\n\nWhat stepgate ships for [messages about rollouts](../notifications.md): the entries of " +
		"[catalog.yaml](../../cmd/notify/catalog/catalog.yaml), in the form of `argocd-notifications-cm`. An entry there " +
		"with the same name replaces one of these. The names of triggers about rollouts begin with " + code(notify.Prefix) +
		": Argo CD's own are about Applications.\n\n## Triggers\n\n" +
		table([]string{"trigger", "description", "when", "oncePer", "send"}, conditions) +
		"\n## Templates\n\n" + table([]string{"template"}, templates) +
		"\nThe webhook service with the name `stepgate` gets everything as JSON, by POST. Others get the text, and slack " +
		"and email a little more.\n\n## What triggers and templates are told\n\n" +
		table([]string{"name", "what it is"}, told) +
		"\n## Subscriptions\n\nstepgate reads " + code(notify.SubscriptionsKey) + " of the ConfigMap, and " +
		"Argo CD's own `subscriptions` if an entry names a trigger about rollouts. But Argo CD then looks for the trigger " +
		"for each Application that the selector matches, and logs an error.\n", nil
}
