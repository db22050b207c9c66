// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"slices"

	"github.com/stepgate/stepgate/cmd/screen"
)

const everywhere = "This cluster"

// Examine makes all checks.
func (f *Facts) Examine() *Report {
	checks := f.cluster()
	for _, r := range f.Installations {
		checks = append(checks, f.workload(r)...)
		checks = append(checks, f.webhooks(r)...)
		checks = append(checks, f.approvals(r)...)
		checks = append(checks, f.certificates(r)...)
		checks = append(checks, f.calls(r)...)
		checks = append(checks, in(r.subject(), "Rights", r.account())...)
		checks = append(checks, f.exemptions(r)...)
		checks = append(checks, in(r.subject(), "Order", f.order(r), f.waves(r))...)
	}
	switch {
	case f.ArgoCDs.Err != nil:
		checks = append(checks, in("Argo CD", "", notRead("instances", "Argo CD's Deployments", f.ArgoCDs.Err))...)
	case len(f.ArgoCDs.Value) == 0:
		checks = append(checks, in("Argo CD", "",
			unknown("instances", "No Deployment has the label app.kubernetes.io/part-of=argocd: its accounts and settings "+
				"were not checked.").
				do("If Argo CD runs in another cluster, see "+screen.Page("docs/install.md#which-argo-cd")))...)
	}
	for _, a := range f.ArgoCDs.Value {
		checks = append(checks, in(a.subject(), "", slices.Concat(f.settings(a), f.accounts(a))...)...)
	}
	checks = append(checks, in("You", "", f.mine())...)
	return newReport(checks)
}

// cluster says whether stepgate is there at all.
func (f *Facts) cluster() []Check {
	checks := []Check{f.kubernetes()}
	switch {
	case f.Configurations != nil:
		checks = append(checks, notRead("stepgate", "the ValidatingWebhookConfigurations", f.Configurations))
	case len(f.Installations) == 0:
		checks = append(checks, problem("stepgate",
			"It is not installed: no webhook configuration has the webhook %s. Nothing keeps the order of the steps.",
			ValidatingWebhook).
			do("Install it, in audit mode first. With Argo CD: "+screen.Page("docs/install-with-argocd.md")+
				" - with Helm, from a checkout:",
				"helm install stepgate ./charts/stepgate --namespace stepgate --create-namespace --wait"))
	default:
		checks = append(checks, ok("stepgate", "%s found.", count(len(f.Installations), "release", "releases")))
	}
	if len(f.Installations) > 1 && f.ApplicationSets.Err == nil {
		checks = append(checks, f.gatedTwice())
	}
	return in(everywhere, "", checks...)
}

// Blind says why the doctor could not look for stepgate: then it has no answer.
func (f *Facts) Blind() error { return errors.Join(f.Configurations, f.MutatingConfigurations) }
