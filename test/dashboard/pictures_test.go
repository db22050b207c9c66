// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"testing"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
)

// TestPictures compares each view, light and dark, with its picture in docs/images. UPDATE_GOLDEN=1 takes them anew.
func TestPictures(t *testing.T) {
	write(t, "shop", waitsForApproval())
	gated(t, "shop")
	kept(t, "shop")
	b := serve(t, "shop", cluster.Human)
	for name, show := range map[string]func(){
		"all":     func() { b.Sees("tbody tr >> text=is not approved") },
		"rollout": func() { b.Sees("text=Last rollouts") },
		"history": func() {
			b.Sees("text=Show 2 more")
			b.Click(".sg-kept:nth-child(2) .sg-past-verdict")
			b.Sees("text=approved by alice@example.com")
			b.Evaluate("document.getElementById('sg-history').scrollIntoView()", nil)
		},
		"panel": func() {
			b.Click("[data-tile='prod']")
			b.Sees("[role=dialog] >> text=is held now")
		},
	} {
		light, dark := "dashboard-"+name+".png", "dashboard-"+name+"-dark.png"
		for file, isDark := range map[string]bool{light: false, dark: true} {
			b.open(browser.Tab{Width: 1280, Height: 720, Dark: isDark}, map[bool]string{false: "guestbook"}[name == "all"])
			show()
			b.Compare(file)
		}
		b.TellsApart(light, dark)
	}
}
