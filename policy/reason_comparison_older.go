package policy

// ComparisonOlder means that nothing shows a comparison of the sibling since the change.
const ComparisonOlder Reason = "ComparisonOlder"

var comparedUnhydrated = blocking{
	row: row{
		reason: ComparisonOlder,
		level:  RequireRevision,
		when:   "its source hydrator has ended with another revision than the compared one, and not before `reconciledAt`",
		short:  "stepgate does not know that Argo CD has compared it since the change",
		stale:  true,
		next:   "refresh APP: argocd app get APP --refresh",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return "compared before it was hydrated", a.Hydration == Uncompared
	},
}

var comparisonOlder = blocking{
	row: row{
		reason: ComparisonOlder,
		level:  RequireRevision,
		when: "it is not known to be fresh, and the target deploys a change in a source that it does not have, or other " +
			"sources than it runs at another revision than it was compared with",
		short: "stepgate does not know that Argo CD has compared it since the change",
		stale: true,
		next:  "refresh APP: argocd app get APP --refresh",
	},
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		if (in.pendingElsewhere(a) || in.behind) && in.History.Past(a.Name).Freshness < Fresh {
			return changeUnseen(in.Target.Name), true
		}
		return "", false
	},
}

// changeUnseen is what the detail of ComparisonOlder says of the change to a target.
func changeUnseen(target string) string {
	return "not known to be compared since the change to " + clean(target) + " was seen"
}
