// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// terminal is where a Progress is shown.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(text)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func TestProgressIsShownAndTakenAway(t *testing.T) {
	for name, row := range map[string]struct {
		all  int
		want string
	}{
		"of what is known":     {1200, "300/1200"},
		"of what is not known": {0, "plays"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out terminal
			p := &Progress{}
			p.At(300)
			p.after(0, &out, "plays", row.all)
			g.Eventually(out.String).Should(ContainSubstring(row.want))
			p.End()
			g.Expect(out.String()).To(HaveSuffix("\r"), "the line is empty again")
		})
	}
}

// What ends within a second shows nothing, and what is no terminal never does.
func TestProgressIsNotShown(t *testing.T) {
	g := NewWithT(t)
	var out terminal
	p := &Progress{}
	p.after(time.Hour, &out, "plays", 3)
	p.At(1)
	p.End()
	p.At(2)
	g.Expect(out.String()).To(BeEmpty())

	elsewhere := NewProgress(&out, os.Getenv, "plays", 3)
	g.Expect(elsewhere.show).To(BeNil())
	elsewhere.At(1)
	elsewhere.End()
}
