// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"image"
	"image/png"
	"os"
	"path/filepath"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/checkout"
)

const (
	// block is the width and height, in px, of what is compared by its mean colour: another font, or another time of the
	// day, moves letters within it.
	block = 32
	// mostDifferent is how many of these blocks may differ by more than mostColour of 255.
	mostDifferent, mostColour = 0.05, 24
)

// Compare compares what is visible with a picture in docs/images. UPDATE_GOLDEN=1 takes that anew.
func (b *Browser) Compare(name string) {
	b.t.Helper()
	g := gomega.NewWithT(b.t)
	taken, kept := filepath.Join(b.t.TempDir(), name), b.kept(name)
	b.do(nil, "picture", map[string]any{"path": taken})
	if os.Getenv("UPDATE_GOLDEN") != "" {
		text, err := os.ReadFile(taken)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(os.WriteFile(kept, text, 0o600)).To(gomega.Succeed())
	}
	g.Expect(b.different(taken, kept)).To(gomega.BeNumerically("<", mostDifferent),
		"%s; UPDATE_GOLDEN=1 takes it anew", name)
}

// TellsApart fails the test if the comparison sees no difference between two pictures in docs/images.
func (b *Browser) TellsApart(one, another string) {
	b.t.Helper()
	gomega.NewWithT(b.t).Expect(b.different(b.kept(one), b.kept(another))).To(gomega.BeNumerically(">", mostDifferent),
		"the comparison sees no difference between %s and %s", one, another)
}

// kept is the path of a picture in docs/images.
func (b *Browser) kept(name string) string {
	b.t.Helper()
	root, err := checkout.Root()
	gomega.NewWithT(b.t).Expect(err).NotTo(gomega.HaveOccurred())
	return filepath.Join(root, "docs", "images", name)
}

// different is the share of blocks of two pictures that differ.
func (b *Browser) different(one, another string) float64 {
	b.t.Helper()
	first, second := b.picture(one), b.picture(another)
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

func (b *Browser) picture(path string) image.Image {
	b.t.Helper()
	g := gomega.NewWithT(b.t)
	file, err := os.Open(path)
	g.Expect(err).NotTo(gomega.HaveOccurred(), "UPDATE_GOLDEN=1 takes it")
	defer func() { _ = file.Close() }()
	decoded, err := png.Decode(file)
	g.Expect(err).NotTo(gomega.HaveOccurred())
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
