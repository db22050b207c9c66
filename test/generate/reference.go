// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/stepgate/stepgate/cmd/lint"
	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// reference is the folder of the pages that nobody writes by hand.
const reference = "docs/reference"

// references are the pages of the reference by path.
func references() (map[string]string, error) {
	files := map[string]string{}
	for name, page := range map[string]func() (string, error){
		"values": valuesPage, "flags": flagsPage, "annotations": annotationsPage, "reasons": reasonsPage,
		"metrics": metricsPage, "events": eventsPage, "alerts": alertsPage, "lint-rules": lintRulesPage,
		"screens": screensPage, "notifications": notificationsPage,
	} {
		text, err := page()
		if err != nil {
			return nil, fmt.Errorf("%s.md: %w", name, err)
		}
		files[filepath.Join(reference, name+".md")] = "<!-- make generate writes this page -->\n\n" + text
	}
	return files, nil
}

// table is a table in Markdown. Its cells are Markdown as well.
func table(head []string, rows [][]string) string {
	text := "| " + strings.Join(head, " | ") + " |\n|" + strings.Repeat("---|", len(head)) + "\n"
	for _, row := range rows {
		for _, cell := range row {
			text += "| " + strings.ReplaceAll(cell, "|", `\|`) + " "
		}
		text += "|\n"
	}
	return text
}

// plain is a text as Markdown: neither GitHub nor the site takes a part of it for markup.
func plain(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "{{", "&#123;&#123;", "*", `\*`, "_", `\_`, "\n", " ").Replace(text)
}

// code is a text as code; nothing if it is empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func valuesPage() (string, error) {
	table, err := valueTable()
	return "# Values\n\nThe values of the chart. It refuses any other key, except under `global`.\n\n" + table, err
}

func annotationsPage() (string, error) {
	var rows [][]string
	for _, a := range settings.All() {
		effect := a.Effect
		if a.Beside != "" {
			effect += " It needs " + code(a.Beside) + "."
		}
		rows = append(rows, []string{code(a.Name), a.Values, a.Writer, effect})
	}
	others := [][]string{
		{code(record.IgnoreLabel), "a label of a namespace", "you", "`true`: the API server sends no write of this namespace. No other value has an effect."},
		{code(settings.BypassInfo), "an entry of `operation.info`", "a user of `--bypass-user`",
			"Lets this one sync through. The value is the reason."},
		{code(argocd.StampInfo), "an entry of `operation.info`", "stepgate",
			"The stamp: hashes of what the operation deploys. One that somebody else writes is refused."},
		{code(cluster.BarrierAnnotation), "an annotation of stepgate's own Application", "stepgate",
			"The write barrier (`--write-barrier`)."},
		{code(ledger.Label), "a label of stepgate's own ConfigMaps", "stepgate",
			"The ledger of an ApplicationSet (`--ledger`), by its UID."},
		{code(ledger.SetAnnotation), "an annotation of these", "stepgate", "Its namespace and name."},
		{code(slots.Label), "a label of stepgate's own ConfigMaps", "stepgate",
			"The slots of the steps of an ApplicationSet (`--max-update`)."},
		{code(evidence.RevisionLabel), "a label of an object", "whoever verifies",
			"The revision of which it speaks to `stepgate.io/verify`."},
		{code(evidence.ForLabel), "a label of an AnalysisRun that stepgate has created", "stepgate",
			"The UID of the ApplicationSet for which it counts (`--verify-create`)."},
		{code(notify.Label), "a label of a ConfigMap of stepgate's own", "stepgate", "What was sent (`--notifications`)."},
		{code(course.CandidatesInfo), "an entry of `operation.info` in a server dry run", "the command line",
			"stepgate answers with a warning for each revision that could be deployed."},
		{code(webhook.SelfTestInfo), "an entry of `operation.info` in a server dry run; a label of the objects of a self-test",
			"the command line", "stepgate answers with a warning: the mutating webhook works."},
	}
	return "# Annotations\n\nThese annotations of an ApplicationSet change how it is gated. On an Application they have " +
		"no effect, but for `stepgate.io/after`, and mode, require and bypass beside it on an Application that no " +
		"ApplicationSet controls. stepgate reports a value that it cannot read, and goes by the stricter reading. A value " +
		"of more than 8 KiB cannot be read.\n\n" +
		table([]string{"annotation", "values", "written by", "effect"}, rows) +
		"\n" + expressions +
		"\n## Other names\n\n" + table([]string{"name", "what it is", "written by", "effect"}, others), nil
}

//go:embed expressions.md
var expressions string

func eventsPage() (string, error) {
	var rows [][]string
	for _, kind := range record.Kinds() {
		rows = append(rows, []string{code(kind.Reason), kind.Type, code(kind.Action), kind.When})
	}
	return "# Events\n\nstepgate posts Events on the Application, and on its ApplicationSet if the Application is only " +
		"being created. It repeats one for the same Application, reason and blockers after ten minutes. " +
		"`reportingController` is " + code(record.ReportingController) + ".\n\n" +
		table([]string{"reason", "type", "action", "when"}, rows), nil
}

// alert is a rule of the chart's PrometheusRule.
type alert struct {
	Alert, Expr, For string
	Labels           struct{ Severity string }
	Annotations      struct {
		Summary, Description string
		Runbook              string `yaml:"runbook_url"`
	}
}

// alertFiles are the files of alerts, with the value of the chart that includes each.
var alertFiles = []struct{ name, heading string }{
	{"alerts.yaml", "metrics.prometheusRule.enabled"},
	{"alerts-reporter.yaml", "metrics.prometheusRule.enabled, if there is a reporter"},
	{"alerts-apiserver.yaml", "metrics.prometheusRule.apiServerAlerts"},
	{"alerts-argocd.yaml", "metrics.prometheusRule.argocdAlerts"},
}

func alertsPage() (string, error) {
	page := "# Alerts\n\nThe alerts of the chart's PrometheusRule, by the value that includes them. The names behind a " +
		"dollar sign are those of the release.\n"
	for _, file := range alertFiles {
		text, err := os.ReadFile(filepath.Join(chart, "files", file.name))
		if err != nil {
			return "", err
		}
		var alerts []alert
		if err := yaml.Unmarshal(text, &alerts); err != nil {
			return "", fmt.Errorf("%s: %w", file.name, err)
		}
		page += "\n## " + file.heading + "\n"
		for _, a := range alerts {
			after := ""
			if a.For != "" {
				after = ", after " + a.For
			}
			runbook := strings.TrimPrefix(a.Annotations.Runbook, "https://github.com/stepgate/stepgate/blob/main/docs/")
			page += fmt.Sprintf("\n### %s\n\n%s (%s%s). [What to do](../%s).\n\n```promql\n%s\n```\n", a.Alert,
				plain(a.Annotations.Summary), a.Labels.Severity, after, runbook, a.Expr)
		}
	}
	return page, nil
}

// addressOfPage is a page as messages name it.
var addressOfPage = regexp.MustCompile(regexp.QuoteMeta(screen.Page("docs/")) + `([a-z/-]+)\.md`)

// lintRulesPage has a section for each rule: SARIF links its heading.
func lintRulesPage() (string, error) {
	var rows [][]string
	sections := ""
	for _, r := range lint.Rules() {
		rows = append(rows, []string{"[" + code(r.ID) + "](#" + r.ID + ")", r.Severity.String(), plain(r.Short)})
		sections += fmt.Sprintf("\n## %s\n\n**%s** (%s). %s\n\n**Do:** %s\n", r.ID, plain(r.Short), r.Severity,
			plain(r.Help), addressOfPage.ReplaceAllString(plain(r.Remedy), "[$1](../$1.md)"))
	}
	return "# Rules of lint\n\n[`stepgate lint`](../cli.md#stepgate-lint) looks for these mistakes. A finding names its " +
		"rule, and the name never changes.\n\n" + table([]string{"rule", "severity", "found"}, rows) + sections, nil
}

// reasonsPage has each reason once.
func reasonsPage() (string, error) {
	var earlier, targets, admitted [][]string
	for _, r := range eachOnce(policy.SiblingRows()) {
		earlier = append(earlier, []string{explained(r.Reason), r.Level.String(), r.Short, plain(next(r.Reason))})
	}
	writes, _ := policy.WriteRows()
	for _, r := range eachOnce(writes) {
		if r.Outcome == policy.Deny {
			targets = append(targets, []string{explained(r.Reason), r.When, plain(next(r.Reason))})
		} else {
			admitted = append(admitted, []string{explained(r.Reason), strings.ReplaceAll(r.Outcome.String(), "_", " "), r.When})
		}
	}
	return "# Reasons\n\nThe reasons of stepgate's decisions. They are in denials, Events, audit annotations and " +
		"metrics. APP, APPSET and NAMESPACE stand for names, and step 2 for any step.\n\n" +
		"## Denied: an Application of an earlier step is not done\n\n" +
		table([]string{"reason", "level", "the Application", "next"}, earlier) +
		"\n## Denied: the Application itself, or a condition of its step\n\n" +
		table([]string{"reason", "when", "next"}, targets) +
		"\n## Admitted\n\n" + table([]string{"reason", "outcome", "when"}, admitted), nil
}

// explained is a reason, with a link to what it means.
func explained(reason policy.Reason) string {
	return fmt.Sprintf("[%s](../decisions.md#%s)", reason, strings.ToLower(string(reason)))
}

// next is what a denial for a reason says after "Next:".
func next(reason policy.Reason) string {
	d := policy.Decision{
		Reason: reason, Application: "APP", ApplicationSet: "NAMESPACE/APPSET", Step: 1,
		Blockers: []policy.Blocker{{Application: "APP", Reason: reason}},
	}
	_, next, _ := strings.Cut(d.Message(), "Next: ")
	return next
}
