// SPDX-License-Identifier: Apache-2.0

package policy

// WindowClosed means that a sync window does not let the target sync.
const WindowClosed Reason = "WindowClosed"

var windowClosed = waiting{
	row: row{
		reason: WindowClosed,
		means: "A [sync window](conditions.md#sync-windows) of the Application's AppProject is closed, as `argocd " +
			"app get APP` shows, too.",
		do: "wait; the sync then starts by itself. Where the window permits manual syncs, `argocd app sync APP` " +
			"starts one.",
		level:     RequireHealth,
		when:      "its sync window is closed",
		condition: true,
		words: func(d Decision) (text, next string) {
			when := "yet"
			if !d.NotBefore.IsZero() {
				when = "before " + moment(d.NotBefore)
			}
			return d.of() + " may not sync " + when + " (WindowClosed: " + d.Detail + ")",
				"wait until the sync window of its project opens"
		},
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		d.Detail, d.NotBefore = Printable(in.Window.Detail, maxText), in.Window.OpensAt
		return d, in.Window.Closed
	},
}
