package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/browser"
)

var pictures = flag.String("pictures", "", "the folder to which the pictures go")

// view is the extension on a host page.
type view struct {
	*browser.Browser
	WithT
	t *testing.T
}

// open opens a view of the extension.
func open(t *testing.T, react, path, theme string) *view {
	t.Helper()
	v := &view{Browser: browser.Start(t), WithT: *NewWithT(t), t: t}
	v.Open(browser.Tab{URL: host(t, react) + path + "&theme=" + theme, Width: 1280, Height: 900})
	return v
}

// inOrder checks what nobody complains about, and takes a picture.
func (v *view) inOrder(picture string) {
	v.t.Helper()
	v.Expect(v.Accessibility()).To(BeEmpty())
	v.Expect(v.Complaints()).To(BeEmpty())
	if *pictures != "" {
		v.Expect(os.MkdirAll(*pictures, 0o755)).To(Succeed())
		path, err := filepath.Abs(filepath.Join(*pictures, picture+".png"))
		v.Expect(err).NotTo(HaveOccurred())
		v.Picture(path)
	}
}

// TestInABrowser opens the extension that the real argocd-server serves with each React that a version of Argo CD's UI
// has. The host page is not Argo CD's own shell.
func TestInABrowser(t *testing.T) {
	for react := range reacts {
		for _, theme := range []string{"light", "dark"} {
			t.Run("React "+react+" "+theme, func(t *testing.T) {
				name := func(view string) string { return view + "-react" + react + "-" + theme }
				t.Run("the tab of an ApplicationSet", func(t *testing.T) {
					v := open(t, react, "/?view=tab", theme)
					v.Sees("text=Progressing")
					v.Sees(`[data-tile="engineering-prod-guestbook"]`)
					v.Sees("text=stepgate get guestbook -n argocd")
					v.Expect(v.Count("text=Pause…")).To(BeZero(), "nothing can be written")
					v.inOrder(name("tab"))
					v.Click(`[data-tile="engineering-prod-guestbook"]`)
					v.Sees("text=A sync by the ApplicationSet controller")
					v.inOrder(name("explanation"))
				})
				t.Run("the page of all rollouts", func(t *testing.T) {
					v := open(t, react, "/stepgate?view=page", theme)
					v.Sees("text=engineering-dev-guestbook (NotHealthy: Progressing)")
					v.inOrder(name("page"))
					v.Click("th a")
					v.Sees("text=stepgate get guestbook -n argocd")
					v.Sees("text=All rollouts")
				})
				t.Run("the item on an Application", func(t *testing.T) {
					v := open(t, react, "/?view=item", theme)
					v.Sees("text=Step 3 of 3")
					v.Sees("text=engineering-dev-guestbook and 1 more")
					v.Click("text=Step 3 of 3")
					v.Sees("text=What holds it up")
					v.inOrder(name("item"))
				})
			})
		}
	}
}
