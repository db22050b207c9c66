package policy

// NotHydrated means that the source hydrator is not at the end of its work.
const NotHydrated Reason = "NotHydrated"

var notHydrated = blocking{
	row: row{
		reason:     NotHydrated,
		level:      RequireRevision,
		when:       "its source hydrator runs, has failed, or has not begun with the new dry source",
		short:      "the source hydrator is at work on it, or has failed",
		ofRevision: true,
		next:       "wait until the source hydrator has hydrated APP, or read its status.sourceHydrator",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		switch a.Hydration {
		case "Hydrating", "Failed", Outdated:
			return clean(a.Hydration), true
		}
		return "", false
	},
}
