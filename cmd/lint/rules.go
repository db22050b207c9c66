// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"

	"github.com/argoproj/argo-cd/v3/common"

	"github.com/stepgate/stepgate/cmd/screen"
)

// Rule is something that lint looks for. Its identifier never changes.
type Rule struct {
	ID       string
	Severity Severity
	// Short is a title, and Help says why it matters: what Argo CD or stepgate does.
	Short string
	Help  string
	// Remedy is what to do, unless a finding knows better.
	Remedy string
}

// Rules are all rules, in the order of the documentation.
func Rules() []Rule {
	return slices.Concat(objectRules(), expressionRules(), membershipRules(), maxUpdateRules(), syncRules(),
		annotationRules(), orderRules(), waveRules())
}

// ruleOf finds a rule. Every identifier in the code has one; a test sees to it.
func ruleOf(id string) Rule {
	for _, r := range Rules() {
		if r.ID == id {
			return r
		}
	}
	return Rule{ID: id, Severity: Error}
}

func objectRules() []Rule {
	return []Rule{
		{
			"invalid-object", Error, "The object does not fit the schema",
			"The API server refuses the object, and nothing else in it was checked.", "Correct the field.",
		},
		{
			"unknown-field", Warning, "A field of the strategy that does not exist",
			"The API server drops a field that it does not know, and applies the rest: a misspelt maxUpdate is no limit.",
			"Correct the name of the field, or remove it.",
		},
		{
			"strategy-misplaced", Error, "A strategy in the wrong place",
			"The API server drops a field that it does not know. The Applications then sync in any order.",
			"Move it to spec.strategy of the ApplicationSet, beside spec.template and spec.generators.",
		},
		{
			"strategy-type", Error, "A strategy type that does not exist",
			"Only the exact texts RollingSync and AllAtOnce exist. With any other the ApplicationSet controller ignores the " +
				"steps, and stepgate gates nothing.", "Write type: RollingSync.",
		},
		{
			"steps-ignored", Warning, "Steps without type RollingSync",
			"The steps count only if the type is RollingSync. Without it all Applications sync in any order.",
			"Write type: RollingSync, or remove rollingSync.",
		},
		{
			"no-steps", Error, "RollingSync without steps",
			"Argo CD up to 3.5 then orders nothing; 3.6 reports an error and stops. stepgate gates nothing.",
			"Add the steps to spec.strategy.rollingSync.steps, or remove the strategy.",
		},
		{
			"one-step", Note, "One step only",
			"With one step there is nothing to put in order: its Applications sync at once, as far as maxUpdate lets them.",
			"Add the other steps, unless maxUpdate is all you need.",
		},
		{
			"deletion-order", Warning, "A deletionOrder that has no effect",
			"Only AllAtOnce and Reverse exist, and Reverse needs RollingSync with steps.",
			"Write deletionOrder: Reverse together with RollingSync and steps, or remove it.",
		},
		{
			"generator-fails", Error, "A generator that fails",
			"If one generator fails, the ApplicationSet controller updates no Application of the ApplicationSet.",
			"Correct the generator.",
		},
		{
			"template-fails", Error, "A template that fails",
			"Argo CD cannot render an Application, and then updates no Application of the ApplicationSet.",
			"Correct the template. With goTemplate, parameters are written {{.name}}, and names with a dash " +
				"{{index .metadata.labels \"my-label\"}}.",
		},
		{
			"duplicate-name", Error, "Applications with the same name",
			"Argo CD refuses an ApplicationSet that gives two Applications one name, and updates no Application of it.",
			"Use a parameter in spec.template.metadata.name that tells them apart.",
		},
		{
			"invalid-name", Error, "A name that the API server refuses",
			"The API server refuses the ApplicationSet, or the Application.",
			"Use lower case letters, digits, '-' and '.', and parameters that the generators give. If another program fills " +
				"in the name, such as envsubst, give lint what it writes.",
		},
		{
			"invalid-label", Error, "A label that no Application can have",
			"The API server refuses the Application, and Argo CD never creates or updates it.",
			"A label has at most 63 characters: letters, digits, '-', '_' and '.', with a letter or a digit at both ends.",
		},
		{
			"placeholder-not-filled", Error, "A placeholder in a label that no generator fills",
			"The placeholder stays in the label as it is. It is no valid label, and the Application cannot be created.",
			"Use a parameter that the generator gives.",
		},
	}
}

func expressionRules() []Rule {
	return []Rule{
		{
			"invalid-key", Error, "A key that no label can have",
			"No Application can have this label. In then selects nothing, and NotIn everything.",
			"Write the key of a label of the Applications.",
		},
		{
			"unknown-operator", Error, "An operator other than In and NotIn",
			"Only In and NotIn exist, written exactly like this. Any other operator selects the Applications without the " +
				"label, and no Application with it.", "Write In or NotIn.",
		},
		{
			"in-without-values", Error, "In without values", "In without values selects nothing.",
			"Write the values of the label, or remove the step.",
		},
		{
			"not-in-without-values", Warning, "NotIn without values", "NotIn without values selects every Application.",
			"Write the values to leave out, or remove the expression.",
		},
		{
			"impossible-value", Warning, "A value that no label can have",
			"A label has at most 63 characters: letters, digits, '-', '_' and '.', with a letter or a digit at both ends. " +
				"The value is compared exactly, so a space matters.", "Correct the value.",
		},
		{
			"empty-value", Warning, "An empty value",
			"It selects Applications whose label is set to the empty text, and none without the label.",
			"Remove the empty value. To select Applications without the label, use NotIn with all values of the others.",
		},
		{
			"duplicate-value", Note, "A value twice in an expression",
			"The second one changes nothing; it may be another value misspelt.", "Remove one of them, or correct it.",
		},
		{
			"contradiction", Error, "Expressions that exclude each other",
			"All expressions of a step have to select an Application. These select none together.",
			"To select Applications with one value or another, list both in one expression.",
		},
		{"empty-step", Warning, "A step without expressions", "It selects every Application.", "Give it matchExpressions."},
		{
			"shadowed-step", Error, "A step that can never get an Application",
			"An Application that several steps select belongs to the first of them. Earlier steps select everything that " +
				"this one selects.", "Narrow the earlier steps, or remove this one.",
		},
	}
}

func membershipRules() []Rule {
	return []Rule{
		{
			"label-not-set", Error, "A label that no Application has",
			"The steps select by this label, and no Application has it. In then selects nothing, and NotIn everything.",
			"Set the label in spec.template.metadata.labels, or select by a label that is there.",
		},
		{
			"value-never-given", Warning, "A value that no Application has",
			"The generators of this ApplicationSet give this value to no Application. It may be misspelt.",
			"Correct the value, or add it to the generator.",
		},
		{
			"step-without-applications", Warning, "A step without Applications",
			"An empty step is complete at once, and the next one opens.",
			"Correct the expressions of the step or the labels of the Applications.",
		},
		{
			"in-two-steps", Warning, "Applications in two steps",
			"The first of the steps counts. Argo CD lists the Application in both, and opens neither's successor before it " +
				"is Healthy.", "Make the expressions exclude each other.",
		},
		{
			"in-no-step", Warning, "Applications in no step",
			"The ApplicationSet controller never syncs them, and RollingSync switches their automated sync off. stepgate " +
				"does not gate them. They count in the percentage of maxUpdate of step 1.",
			"Add them to a step, or sync them by hand.",
		},
		{
			"generator-in-no-step", Warning, "A generator whose Applications are in no step",
			"The ApplicationSet controller never syncs them, and RollingSync switches their automated sync off. stepgate " +
				"does not gate them.", "Add its Applications to a step.",
		},
	}
}

func maxUpdateRules() []Rule {
	return []Rule{
		{
			"manual-step", Note, "A step that is synced by hand",
			"With maxUpdate 0 or 0% the ApplicationSet controller starts no sync in this step. When somebody has synced all " +
				"its Applications and they are Healthy, the next step opens.",
			"Nothing, if this is intended: argocd app sync APP for each Application of the step. Otherwise write 1.",
		},
		{
			"invalid-max-update", Error, "A maxUpdate that is no number and no percentage",
			"Argo CD counts a text that is no percentage, and a negative percentage, as 1. A negative number lets no " +
				"Application through.", "Write a number such as 1, or a percentage such as 20%.",
		},
		{
			"max-update-no-limit", Note, "A maxUpdate that limits nothing",
			"All Applications of the step sync at once, as without maxUpdate.", "Write less than 100%, or remove it.",
		},
		{
			"max-update-below-one", Note, "A percentage of less than one Application",
			"Argo CD rounds percentages down, and then takes at least 1.", "Nothing, if one at a time is intended.",
		},
	}
}

func syncRules() []Rule {
	return []Rule{
		{
			"sync-wave", Note, "A sync wave on generated Applications",
			"Argo CD puts the resources of one sync in order by their waves. The ApplicationSet controller makes each " +
				"Application by itself, and does not read them.",
			"To have stepgate keep this order, annotate the ApplicationSet with stepgate.io/waves: \"true\". Or write the " +
				"order as steps: a label of the Applications, and spec.strategy.rollingSync.steps that select it.",
		},
		{
			"automated-disabled", Note, "Automated sync that is switched off",
			"With progressive syncs the ApplicationSet controller sets automated.enabled to false in every Application, and " +
				"starts the syncs itself. It takes over prune.",
			"Nothing, if the controller is to start the syncs. To keep automated sync and the order, see " +
				screen.Page("docs/ordered-autosync.md") + ".",
		},
		{
			"self-heal-disabled", Warning, "Self-heal that is switched off",
			"With progressive syncs the ApplicationSet controller switches automated sync off, and with it self-heal: drift " +
				"stays.", "Remove selfHeal, or run without progressive syncs as in " + screen.Page("docs/ordered-autosync.md") +
				". Then call lint with --progressive-syncs=false.",
		},
		{
			"prune-ignored", Warning, "prune that has no effect",
			"The ApplicationSet controller prunes only if automated sync is enabled in the template.",
			"Remove enabled: false: with progressive syncs the controller switches automated sync off anyway.",
		},
		{
			"retry-refresh", Note, "Retries that resolve the branch again",
			"A retry may deploy a commit that the earlier steps do not have. Where stepgate enforces, it takes refresh back " +
				"in step 2 and later: retries keep to their commit, and end within 5 minutes. With start they go on, until a " +
				"newer commit may be deployed.", "Set a small retry.limit instead, or install stepgate with start.enabled=true.",
		},
		{
			"applications-not-updated", Error, "An applicationsSync policy that starts no sync",
			"With create-only and create-delete the ApplicationSet controller never writes to an Application that exists. It " +
				"starts no sync, and no step is ever completed by it.", "Use sync or create-update.",
		},
		{
			"orphans-block", Warning, "Orphans that hold later steps up",
			"With create-only and create-update an Application stays that is generated no more. Without progressive syncs " +
				"the ApplicationSet controller records nothing, so nothing tells stepgate that it is an orphan: later steps " +
				"wait for it while it is not done.",
			"Delete such an Application, or take its label or its owner away. Or use sync.",
		},
		{
			"sync-policy-kept", Warning, "A sync policy that the controller does not change",
			"With ignoreApplicationDifferences the controller does not switch automated sync off. Applications that have it " +
				"enabled then sync by themselves, in any order.", "Do not ignore the sync policy.",
		},
		{
			"step-label-kept", Warning, "A label of the steps that the controller does not change",
			"Argo CD goes by the labels that it generates, and stepgate by those of the live Application. If they differ, " +
				"the two do not agree on the step.", "Do not preserve or ignore labels by which the steps select.",
		},
		{
			"progressive-syncs-off", Warning, "Steps that the ApplicationSet controller ignores",
			"The Applications exist, and the ApplicationSet's status records no step of them. The controller runs without " +
				"--enable-progressive-syncs, and nothing starts their syncs.",
			"Switch progressive syncs on, or enable automated sync as in " +
				screen.Page("docs/ordered-autosync.md") + ".",
		},
	}
}

func annotationRules() []Rule {
	return []Rule{
		{
			"annotation-invalid", Error, "An annotation of stepgate that does not parse",
			"stepgate takes the strictest value instead: enforce, revision, no bypass, no exclusion.",
			"Correct the value. The list: " + screen.Page("docs/reference/annotations.md") + ".",
		},
		{
			"annotation-unknown", Warning, "An annotation that stepgate does not have", "It has no effect.",
			"Correct the name. The list: " + screen.Page("docs/reference/annotations.md") + ".",
		},
		{
			"annotation-without-effect", Warning, "An annotation of stepgate that has no effect",
			"It ends or explains another one that is not there, its time is over, or the ApplicationSet has no steps.",
			"Remove it, or complete it.",
		},
		{
			"annotation-reserved", Error, "An annotation that only stepgate writes",
			"stepgate records there who has paused or approved, and refuses a write of anybody else.", "Leave it out.",
		},
		{
			"condition-not-enforced", Warning, "A condition that holds nothing",
			"Conditions hold and refuse syncs in enforce mode only. In audit mode stepgate records them, and with mode off " +
				"it does nothing.", "Nothing, if this is intended. Otherwise use mode enforce.",
		},
		{
			"overtaken", Note, "A step that deploys the newest commit only",
			"A step that soaks or waits for an approval waits with the newest commit. Each one that lands takes the place of " +
				"the one that waits, and the step waits anew.",
			"Nothing, if commits are rare. Otherwise let stepgate deploy the newest one that the conditions allow: " +
				"annotation stepgate.io/pin: candidate, and start.enabled=true of the chart.",
		},
		{
			"annotation-on-application", Warning, "An annotation of stepgate in the template",
			"stepgate reads its annotations from the ApplicationSet only.",
			"Move it to metadata.annotations of the ApplicationSet.",
		},
		{
			"reported", Note, "Applications that an agent reports",
			"No Argo CD of this cluster compares Applications with argocd.argoproj.io/skip-reconcile. stepgate goes by what " +
				"an agent writes of them, and pins nothing: their Argo CD deploys what targetRevision is there when the sync " +
				"starts.",
			"Let targetRevision be a tag or a commit: then what is deployed is what is reported of the earlier steps.",
		},
		{
			"excluded-unknown", Warning, "An excluded Application that does not exist",
			"stepgate excludes by exact name; this name excludes nobody.", "Correct the name.",
		},
	}
}

func orderRules() []Rule {
	return []Rule{
		{
			"after-invalid", Error, "stepgate.io/after that cannot be read",
			"Nothing that has the annotation starts until it is repaired.",
			"Write names of ApplicationSets or Applications, separated by commas: infra, platform/base.",
		},
		{
			"after-circle", Error, "A circle of stepgate.io/after",
			"In a circle each waits until the others are done: a change of all of them never starts.",
			"Take the name out of one of the annotations.",
		},
		{
			"after-elsewhere", Note, "stepgate.io/after with a name that was not given",
			"It may be in other files or in another namespace. While it does not exist, nothing starts.",
			"Nothing, if it exists elsewhere. Otherwise correct the name, or give its file as well.",
		},
		{
			"track-invalid", Error, "stepgate.io/track that is no key of a label",
			"There are no tracks then: every Application of a step holds the next step up.",
			"Write the key of a label of the Applications, such as app.",
		},
		{
			"track-label-not-set", Warning, "A track label that no Application has",
			"An Application without the label counts in every track: there is only one.",
			"Set the label in spec.template.metadata.labels, or name one that is there.",
		},
		{
			"track-label-missing", Note, "Applications without the track label",
			"They count in every track: they wait for the earlier steps of all tracks, and all tracks wait for them.",
			"Nothing, if this is intended. Otherwise give them the label.",
		},
		{
			"track-needs-start", Note, "Tracks where the ApplicationSet controller starts the syncs",
			"The ApplicationSet controller knows no tracks: it waits for the whole step.",
			"Have stepgate start syncs with start.enabled=true of the chart, or use automated sync as in " +
				screen.Page("docs/ordered-autosync.md") + ".",
		},
	}
}

// OfWaves reports whether a rule is about sync waves, or about the parents of Applications.
func OfWaves(id string) bool {
	return slices.ContainsFunc(waveRules(), func(r Rule) bool { return r.ID == id })
}

func waveRules() []Rule {
	return []Rule{
		{
			"waves-invalid", Error, "stepgate.io/waves or stepgate.io/max-update that is not valid",
			"Whatever is not false asks for waves, except beside RollingSync, whose steps are the order. A max-update that " +
				"cannot be read lets one Application of a wave sync at a time.",
			"Write stepgate.io/waves: \"true\" without RollingSync, and stepgate.io/max-update beside it: 3, 25% or " +
				"10=25%,20=3.",
		},
		{
			"wave-not-there", Warning, "A wave that no Application has",
			"The annotation names a sync wave in which there is no Application: it does nothing there.",
			"Correct the number: it is the " + syncWave + " of the Applications, and 0 where they have none.",
		},
		{
			"sync-wave-invalid", Warning, "A sync wave that is no number",
			"Argo CD counts it as wave 0, and so does stepgate.", "Write a whole number in quotes, such as \"20\" or \"-1\".",
		},
		{
			"waves-without-children", Warning, "Waves of an Application that has no Applications",
			"A parent Application has the waves of the Applications that it makes, by Argo CD's tracking.",
			"Nothing, if they are still to come, or in a namespace that was not read. Otherwise remove the annotation.",
		},
		{
			"parent-not-there", Note, "An Application whose parent is not there",
			"Argo CD's tracking says which Application has made it. If that one was deleted, nobody syncs or orders this one.",
			"Nothing, if the parent is in a namespace that was not read. Otherwise delete the annotation " +
				common.AnnotationKeyAppInstance + ".",
		},
		{
			"two-parents", Warning, "An Application that two parents have",
			"Argo CD's tracking annotation names one parent, and the label another one. The annotation counts.",
			"Remove the label, or have only one of the two make the Application.",
		},
		{
			"parent-circle", Warning, "A circle of parents",
			"By Argo CD's tracking, each of these Applications has made the next one. So nobody can say which one comes first.",
			"Take one of them out of the source of the one that has made it.",
		},
	}
}
