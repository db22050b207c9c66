// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Screen is where a command prints. The zero value is plain text of any width, as for a file or a pipe.
type Screen struct {
	// Width is the number of columns; 0 means that lines may have any length.
	Width int
	// Height is the number of lines; 0 means that it is not known.
	Height int
	// Colour says that text may have colours.
	Colour bool
	// Live says that it is a terminal, on which text can be drawn again in place.
	Live bool
}

// Of looks at what a command prints to. Only a terminal has a width and colours. NO_COLOR and TERM=dumb take the
// colours away, and COLUMNS sets the width of anything.
func Of(out io.Writer, getenv func(string) string) Screen {
	var s Screen
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		dumb := getenv("TERM") == "dumb"
		s.Live, s.Colour = !dumb, !dumb && getenv("NO_COLOR") == ""
		s.Width, s.Height, _ = term.GetSize(int(file.Fd()))
	}
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		s.Width = columns
	}
	return s
}
