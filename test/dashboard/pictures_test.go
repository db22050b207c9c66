package dashboard

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
)

const (
	// block is the width and height, in px, of what is compared by its mean colour: another font, or another time of the
	// day, moves letters within it.
	block = 32
	// mostDifferent is how many of these blocks may differ by more than mostColour of 255.
	mostDifferent, mostColour = 0.05, 24
)

// TestPictures compares each view, light and dark, with its picture in docs/images. UPDATE_GOLDEN=1 takes them anew.
func TestPictures(t *testing.T) {
	write(t, "shop", waitsForApproval())
	b := serve(t, "shop", cluster.Human)
	folder := t.TempDir()
	views := map[string]func(){
		"all":     func() { b.Sees("tbody tr") },
		"rollout": func() { b.Sees("text=Last rollouts") },
		"panel": func() {
			b.Click("[data-tile='prod']")
			b.Sees("[role=dialog] >> text=is held now")
		},
	}
	for name, show := range views {
		var both []string
		for _, dark := range []bool{false, true} {
			view := map[bool]string{false: "guestbook"}[name == "all"]
			b.open(browser.Tab{Width: 1280, Height: 720, Dark: dark}, view)
			show()
			file := "dashboard-" + name + map[bool]string{true: "-dark"}[dark] + ".png"
			taken, kept := filepath.Join(folder, file), filepath.Join(shared.Root, "docs", "images", file)
			b.Picture(taken)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				text, err := os.ReadFile(taken)
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(os.WriteFile(kept, text, 0o600)).To(Succeed())
			}
			b.Expect(different(t, taken, kept)).To(BeNumerically("<", mostDifferent), "%s; UPDATE_GOLDEN=1 takes it anew", file)
			both = append(both, taken)
		}
		b.Expect(different(t, both[0], both[1])).To(BeNumerically(">", mostDifferent), "the comparison sees no difference")
	}
}

// different is the share of blocks of two pictures that differ.
func different(t *testing.T, a, b string) float64 {
	t.Helper()
	first, second := picture(t, a), picture(t, b)
	size := first.Bounds()
	if size != second.Bounds() {
		return 1
	}
	n, differ := 0, 0
	for y := size.Min.Y; y < size.Max.Y; y += block {
		for x := size.Min.X; x < size.Max.X; x += block {
			n++
			one, two := mean(first, x, y), mean(second, x, y)
			for i := range one {
				if d := one[i] - two[i]; d > mostColour || d < -mostColour {
					differ++
					break
				}
			}
		}
	}
	return float64(differ) / float64(n)
}

func picture(t *testing.T, path string) image.Image {
	t.Helper()
	g := NewWithT(t)
	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred(), "UPDATE_GOLDEN=1 takes it")
	defer func() { _ = file.Close() }()
	decoded, err := png.Decode(file)
	g.Expect(err).NotTo(HaveOccurred())
	return decoded
}

// mean is the mean colour of a block, from 0 to 255.
func mean(of image.Image, x, y int) (colour [3]int) {
	n := 0
	for dy := range min(block, of.Bounds().Max.Y-y) {
		for dx := range min(block, of.Bounds().Max.X-x) {
			r, g, b, _ := of.At(x+dx, y+dy).RGBA()
			colour[0] += int(r >> 8)
			colour[1] += int(g >> 8)
			colour[2] += int(b >> 8)
			n++
		}
	}
	for i := range colour {
		colour[i] /= n
	}
	return colour
}
