package doctor

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/errors"
)

const everywhere = "This cluster"

// Examine makes all checks.
func (f *Facts) Examine() *Report {
	checks := f.cluster()
	for _, r := range f.Releases {
		checks = append(checks, f.workload(r)...)
		checks = append(checks, f.webhooks(r)...)
		checks = append(checks, f.approvals(r)...)
		checks = append(checks, f.certificates(r)...)
		checks = append(checks, f.calls(r)...)
		checks = append(checks, in(r.subject(), "Rights", r.account())...)
		checks = append(checks, f.exemptions(r)...)
	}
	switch {
	case f.ArgoCDs.Err != nil:
		checks = append(checks, in("Argo CD", "", notRead("instances", "Argo CD's Deployments", f.ArgoCDs.Err))...)
	case len(f.ArgoCDs.Value) == 0:
		checks = append(checks, in("Argo CD", "",
			unknown("instances", "No Deployment has the label app.kubernetes.io/part-of=argocd: its accounts and settings "+
				"were not checked.").
				do("If Argo CD runs in another cluster, see docs/install.md#which-argo-cd."))...)
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
	case len(f.Releases) == 0:
		checks = append(checks, problem("stepgate",
			"It is not installed: no webhook configuration has the webhook %s. Nothing keeps the order of the steps.",
			ValidatingWebhook).
			do("Install it from a checkout, in audit mode first:",
				"helm install stepgate ./charts/stepgate --namespace stepgate --create-namespace --wait"))
	default:
		checks = append(checks, ok("stepgate", "%s found.", count(len(f.Releases), "release", "releases")))
	}
	if len(f.Releases) > 1 && f.ApplicationSets.Err == nil {
		checks = append(checks, f.gatedTwice())
	}
	return in(everywhere, "", checks...)
}

// Blind reports whether the doctor could not even look for stepgate: then it has no answer.
func (f *Facts) Blind() error {
	if errors.IsForbidden(f.Configurations) {
		return f.Configurations
	}
	return nil
}
