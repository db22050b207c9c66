// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// belongs reports whether a release gates an instance of Argo CD: its namespace is gated, or one of its accounts is
// named.
func (r *Installation) belongs(a *ArgoCD) bool {
	if r.Flags == nil || r.Flags.Gated(a.Namespace) {
		return true
	}
	g := r.Flags.Gate
	return slices.ContainsFunc(slices.Concat(g.ServerAccounts, g.ApplicationSetAccounts), func(account string) bool {
		return strings.HasPrefix(account, "system:serviceaccount:"+a.Namespace+":")
	})
}

// accounts compares the service accounts of Argo CD with the flags of every release that gates it.
func (f *Facts) accounts(a *ArgoCD) []Check {
	var checks []Check
	for _, r := range f.Installations {
		if r.Flags == nil || !r.belongs(a) {
			continue
		}
		g := r.Flags.Gate
		checks = append(checks,
			f.accountOf(r, a, partApplicationSet, "argocd-applicationset-account", "applicationSetAccounts",
				g.ApplicationSetAccounts, "stepgate denies its early syncs instead of holding them"),
			f.accountOf(r, a, partServer, "argocd-server-account", "serverAccounts", g.ServerAccounts,
				"stepgate honours no bypass in a sync"),
		)
	}
	if len(checks) == 0 && len(f.Installations) > 0 {
		checks = append(checks, skipped("accounts",
			"No release of stepgate gates this instance, as far as its arguments are known."))
	}
	return checks
}

func (f *Facts) accountOf(r *Installation, a *ArgoCD, part, flag, value string, named []string, effect string) Check {
	name := map[string]string{partApplicationSet: "appset account", partServer: "server account"}[part]
	p := a.Parts[part]
	if p == nil {
		return unknown(name, "Not checked: there is no %s in namespace %s.", part,
			a.Namespace).do("If it runs elsewhere, name its account with argocd." + value + ".")
	}
	account := p.account()
	if slices.Contains(named, account) || part == partApplicationSet && strings.HasSuffix(account, partApplicationSet) {
		return ok(name, "%s.", account)
	}
	if len(named) == 0 {
		named = []string{"nobody"}
	}
	return warning(name, "%s %s runs as %s, but --%s of release %s names %s: %s.", p.Kind, p.Name, account, flag,
		r.helm(), list(named), effect).
		do("Name it.").by(r.upgrade(fmt.Sprintf("argocd.%s={%s}", value,
		strings.Join(append(f.used(part, named), account), ","))))
}

// used are those of the accounts that a part of some Argo CD in this cluster has: they stay in the list.
func (f *Facts) used(part string, accounts []string) []string {
	var kept []string
	for _, account := range accounts {
		if slices.ContainsFunc(f.ArgoCDs.Value, func(a *ArgoCD) bool {
			return a.Parts[part] != nil && a.Parts[part].account() == account
		}) {
			kept = append(kept, account)
		}
	}
	return kept
}
