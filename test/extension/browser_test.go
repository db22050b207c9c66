// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/browser"
)

// view is the extension on a host page.
type view struct {
	*browser.Browser
	WithT
}

// open opens a view of the extension in a window of some height.
func open(t *testing.T, react, path, theme string, height int) *view {
	t.Helper()
	v := &view{Browser: browser.Start(t), WithT: *NewWithT(t)}
	v.Open(browser.Tab{URL: host(t, react, "viewer") + path + "&theme=" + theme, Width: 1280, Height: height})
	return v
}

// inOrder checks that nobody complains.
func (v *view) inOrder() {
	v.Expect(v.Accessibility()).To(BeEmpty())
	v.Expect(v.Complaints()).To(BeEmpty())
}

// pictureOf is the name of a picture in docs/images.
func pictureOf(view, theme string) string {
	return "extension-" + view + map[string]string{"dark": "-dark"}[theme] + ".png"
}

// TestInABrowser opens the extension that the real argocd-server serves with each React that a version of Argo CD's UI
// has, and compares each view with its picture: every React draws the same. UPDATE_GOLDEN=1 takes them anew. The host
// page is not Argo CD's own shell.
func TestInABrowser(t *testing.T) {
	for react := range reacts {
		for _, theme := range []string{"light", "dark"} {
			t.Run("React "+react+" "+theme, func(t *testing.T) {
				t.Run("the tab of an ApplicationSet", func(t *testing.T) {
					v := open(t, react, "/?view=tab", theme, 512)
					v.Sees("text=Progressing")
					v.Sees(`[data-tile="engineering-prod-guestbook"]`)
					v.Sees("text=stepgate get guestbook -n argocd")
					v.Sees("text=Add a banner")
					v.Expect(v.Count("text=Pause…")).To(BeZero(), "nothing can be written")
					v.inOrder()
					v.Compare(pictureOf("tab", theme))
					v.Click(`[data-tile="engineering-prod-guestbook"]`)
					v.Sees("text=A sync by the ApplicationSet controller")
					v.inOrder()
				})
				t.Run("the history of an ApplicationSet", func(t *testing.T) {
					v := open(t, react, "/?view=tab", theme, 900)
					v.Sees("text=Show 2 more")
					v.Click(".sg-kept:nth-child(2) summary .sg-past-verdict")
					v.Sees("text=approved by alice@example.com")
					v.inOrder()
					v.Evaluate("document.getElementById('sg-history').scrollIntoView()", nil)
					v.Compare(pictureOf("history", theme))
					v.Click("text=Show 2 more")
					v.Expect(v.Count(".sg-kept")).To(Equal(12))
				})
				t.Run("the page of all rollouts", func(t *testing.T) {
					v := open(t, react, "/stepgate?view=page", theme, 192)
					v.Sees("text=engineering-dev-guestbook (NotHealthy: Progressing)")
					v.inOrder()
					v.Compare(pictureOf("page", theme))
					v.Click("th a")
					v.Sees("text=stepgate get guestbook -n argocd")
					v.Sees("text=All rollouts")
				})
				t.Run("the item on an Application", func(t *testing.T) {
					v := open(t, react, "/?view=item", theme, 576)
					v.Sees("text=Step 3 of 3")
					v.Sees("text=engineering-dev-guestbook and 1 more")
					v.Click("text=Step 3 of 3")
					v.Sees("text=What it waits for, in the order in which to act")
					v.inOrder()
					v.Compare(pictureOf("item", theme))
				})
			})
		}
	}
	b := browser.Start(t)
	for _, view := range []string{"tab", "history", "page", "item"} {
		b.TellsApart(pictureOf(view, "light"), pictureOf(view, "dark"))
	}
}
