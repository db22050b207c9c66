package policy

// NotManaged means that no ApplicationSet controls the Application.
const NotManaged Reason = "NotManaged"

var notManaged = settling{
	row: row{
		reason: NotManaged,
		when:   "no ApplicationSet controls the Application, before or after",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return !in.Target.Managed },
}
