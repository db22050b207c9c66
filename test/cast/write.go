// SPDX-License-Identifier: Apache-2.0

package cast

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// WriteAsciicast writes the frames as an asciicast, version 2.
func WriteAsciicast(w io.Writer, r *Recording, title string, frames []Frame) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(map[string]any{"version": 2, "width": r.Width, "height": r.Height, "title": title}); err != nil {
		return err
	}
	for _, f := range frames {
		at := float64((f.At - frames[0].At).Milliseconds()) / 1000
		if err := out.Encode([]any{at, "o", Clear + strings.Join(f.Lines, "\r\n")}); err != nil {
			return err
		}
	}
	return nil
}

const (
	// column and line are the size of a character, in pixels, and margin is around the screen.
	column, line, margin = 7.83, 17, 14
	// rest is for how long the last frame stays.
	rest = 4 * time.Second
)

// colours are those of the SGR parameters that package screen uses, on a dark ground.
var colours = map[string]string{
	"1": "font-weight:bold;fill:#ffffff", "2": "fill:#7d8590", "32": "fill:#3fb950", "33": "fill:#d29922",
	"31": "fill:#f85149",
}

// WriteSVG writes the frames as one picture that plays them again and again. It needs no script, and no font but the
// reader's.
func WriteSVG(w io.Writer, r *Recording, title string, frames []Frame) error {
	total := frames[len(frames)-1].At - frames[0].At + rest
	var b strings.Builder
	width, height := float64(r.Width)*column+2*margin, float64(r.Height)*line+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`width="%.0f" height="%.0f" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(title))
	b.WriteString("<title>" + html.EscapeString(title) + "</title>\n<style>\n")
	b.WriteString("text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans " +
		"Mono\",monospace;font-size:13px;fill:#e6edf3;white-space:pre}\n")
	for _, code := range slices.Sorted(maps.Keys(colours)) {
		fmt.Fprintf(&b, ".c%s{%s}\n", code, colours[code])
	}
	fmt.Fprintf(&b, ".f{visibility:hidden;animation-duration:%.2fs;animation-iteration-count:infinite;"+
		"animation-timing-function:step-end}\n", total.Seconds())
	for i, f := range frames {
		from, to := percent(f.At-frames[0].At, total), 100.0
		if i+1 < len(frames) {
			to = percent(frames[i+1].At-frames[0].At, total)
		}
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%{visibility:hidden}}\n", i,
			from, to)
		fmt.Fprintf(&b, "#f%d{animation-name:k%d}\n", i, i)
	}
	// Who wants no motion sees the last frame.
	fmt.Fprintf(&b, "@media (prefers-reduced-motion:reduce){.f{animation:none}#f%d{visibility:visible}}\n", len(frames)-1)
	fmt.Fprintf(&b, "</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0d1117\"/>\n")
	for i, f := range frames {
		fmt.Fprintf(&b, "<g class=\"f\" id=\"f%d\">\n", i)
		for n, text := range f.Lines {
			if strings.TrimSpace(escapes.ReplaceAllString(text, "")) != "" {
				fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", margin, margin+(n+1)*line-4,
					spans(text))
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func percent(at, of time.Duration) float64 { return 100 * float64(at) / float64(of) }

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// spans turns colours into classes.
func spans(text string) string {
	var b strings.Builder
	open := false
	for text != "" {
		at := sgr.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(html.EscapeString(escapes.ReplaceAllString(text, "")))
			break
		}
		b.WriteString(html.EscapeString(text[:at[0]]))
		if open {
			b.WriteString("</tspan>")
			open = false
		}
		if code := text[at[2]:at[3]]; colours[code] != "" {
			b.WriteString(`<tspan class="c` + code + `">`)
			open = true
		}
		text = text[at[1]:]
	}
	if open {
		b.WriteString("</tspan>")
	}
	return b.String()
}
