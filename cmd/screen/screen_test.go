// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/screen"
)

func TestTable(t *testing.T) {
	columns := []screen.Column{{Title: "NAME", Cuts: screen.InMiddle}, {Title: "DONE"}, {Title: "WHY", Cuts: screen.AtEnd}}
	rows := [][]screen.Cell{
		{screen.Text("guestbook-production-europe-west-17"), {Text: "3/4", Style: screen.Good}, screen.Text("waits for something that has a long name")},
		{screen.Text("dev"), screen.Text("10/10")},
	}
	for name, tc := range map[string]struct {
		screen screen.Screen
		want   string
	}{
		"any width": {screen.Screen{}, `
NAME                                 DONE   WHY
guestbook-production-europe-west-17  3/4    waits for something that has a long name
dev                                  10/10
`},
		"the name is cut first": {screen.Screen{Width: 60}, `
NAME                  DONE   WHY
guestbook…pe-west-17  3/4    waits for something that has a…
dev                   10/10
`},
		"and then what is read": {screen.Screen{Width: 40}, `
NAME                  DONE   WHY
guestbook…pe-west-17  3/4    waits for …
dev                   10/10
`},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect("\n" + strings.Join(tc.screen.Table(0, columns, rows), "\n") + "\n").To(Equal(tc.want))
		})
	}
}

// Colours take no room: the plain table and the coloured one have the same columns.
func TestColoursTakeNoRoom(t *testing.T) {
	g := NewWithT(t)
	columns, rows := []screen.Column{{}, {}}, [][]screen.Cell{
		{{Text: "a", Style: screen.Bad}, screen.Text("b")}, {screen.Text("aaa"), screen.Text("b")},
	}
	lines := screen.Screen{Colour: true}.Table(2, columns, rows)
	g.Expect(lines).To(Equal([]string{"  \x1b[31ma\x1b[0m    b", "  aaa  b"}))
	g.Expect(screen.Length(lines[0])).To(Equal(screen.Length(lines[1])))
}

func TestWrap(t *testing.T) {
	g := NewWithT(t)
	g.Expect(screen.Screen{Width: 20}.Wrap("1. ", "   ",
		"sync dev first: argocd app sync dev")).To(Equal([]string{"1. sync dev first:", "   argocd app sync", "   dev"}))
	g.Expect(screen.Screen{}.Wrap("", "", "sync dev first")).To(Equal([]string{"sync dev first"}))
	g.Expect(screen.Screen{Width: 5}.Wrap("", " ", "a averylongword b")).To(Equal([]string{"a", " averylongword", " b"}))
}

// What is not a terminal has neither colours nor a width, unless COLUMNS sets one.
func TestOf(t *testing.T) {
	g := NewWithT(t)
	none := func(string) string { return "" }
	g.Expect(screen.Of(&bytes.Buffer{}, none)).To(Equal(screen.Screen{}))
	g.Expect(screen.Of(&bytes.Buffer{}, func(name string) string {
		return map[string]string{"COLUMNS": "80"}[name]
	})).To(Equal(screen.Screen{Width: 80}))
}
