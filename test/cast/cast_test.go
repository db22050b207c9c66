// SPDX-License-Identifier: Apache-2.0

package cast_test

import (
	"bytes"
	"encoding/xml"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/cast"
)

// A program in the terminal knows its size, and every screen that it draws is a frame.
func TestRecording(t *testing.T) {
	g := NewWithT(t)
	const script = `test -t 1 && size=$(stty size); printf '\033[H\033[2Jone %s\r\n\033[32m<green>\033[0m'; printf '\033[H\033[2Jage 1s'; printf '\033[H\033[2Jage 2s'; printf "\033[H\033[2J$size"`
	r, end, err := cast.Start(exec.CommandContext(t.Context(), "sh", "-c", script), 80, 24)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(end()).To(Succeed())
	frames := r.Frames("age")
	var texts []string
	for _, f := range frames {
		texts = append(texts, f.Text())
	}
	g.Expect(texts).To(Equal([]string{"one \n<green>", "age 1s", "24 80"}))

	var svg, asciicast bytes.Buffer
	g.Expect(cast.WriteSVG(&svg, r, "a <title>", frames)).To(Succeed())
	g.Expect(xml.Unmarshal(svg.Bytes(), new(struct{}))).To(Succeed())
	g.Expect(svg.String()).To(ContainSubstring(`<tspan class="c32">&lt;green&gt;</tspan>`))
	g.Expect(cast.WriteAsciicast(&asciicast, r, "title", frames)).To(Succeed())
	g.Expect(strings.Count(asciicast.String(), "\n")).To(Equal(4))
}
