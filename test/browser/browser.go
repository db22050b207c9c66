// SPDX-License-Identifier: Apache-2.0

// Package browser drives a real Chromium in tests: Playwright, from npm, in a process of its own.
package browser

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/checkout"
)

// Browser is a Chromium with one tab. Its methods fail the test if the browser does.
type Browser struct {
	t       *testing.T
	in      io.Writer
	answers *bufio.Reader
}

// Tab is how a tab is opened.
type Tab struct {
	URL           string
	Width, Height int
	Dark          bool
}

// Start starts the browser that CHROMIUM names, and ends it with the test. `make browser-packages` installs what it
// needs of npm.
func Start(t *testing.T) *Browser {
	t.Helper()
	g := gomega.NewWithT(t)
	root, err := checkout.Root()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	command := exec.CommandContext(t.Context(), "node", "browser.mjs")
	command.Dir = filepath.Join(root, "test", "browser")
	command.Env = append(os.Environ(), "CHROMIUM="+cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium"))
	command.Stderr = t.Output()
	in, err := command.StdinPipe()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	out, err := command.StdoutPipe()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(command.Start()).To(gomega.Succeed())
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	return &Browser{t: t, in: in, answers: bufio.NewReader(out)}
}

// try has the browser do something, and reads what comes of it.
func (b *Browser) try(into any, command string, with map[string]any) error {
	request := map[string]any{"command": command}
	for key, value := range with {
		request[key] = value
	}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("the browser has ended: %w", err)
	}
	line, err := b.answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the browser has ended: %w", err)
	}
	var answer struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}

func (b *Browser) do(into any, command string, with map[string]any) {
	b.t.Helper()
	gomega.NewWithT(b.t).Expect(b.try(into, command, with)).To(gomega.Succeed(), "%s %v", command, with)
}

// Open opens a new tab, which knows nothing of the one before.
func (b *Browser) Open(tab Tab) {
	b.t.Helper()
	b.do(nil, "open", map[string]any{"url": tab.URL, "width": tab.Width, "height": tab.Height, "dark": tab.Dark})
}

// Another opens one more tab in the same browser. What is done next is done in it.
func (b *Browser) Another(url string) {
	b.t.Helper()
	b.do(nil, "another", map[string]any{"url": url})
}

// SeesEverywhere waits until an element is visible in each tab.
func (b *Browser) SeesEverywhere(selector string) {
	b.t.Helper()
	b.do(nil, "everywhere", map[string]any{"selector": selector})
}

// Click clicks on the first element of a selector of Playwright, when it is there.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.do(nil, "click", map[string]any{"selector": selector})
}

// Fill writes into a field.
func (b *Browser) Fill(selector, text string) {
	b.t.Helper()
	b.do(nil, "fill", map[string]any{"selector": selector, "text": text})
}

// Press presses a key, such as ArrowRight.
func (b *Browser) Press(key string) {
	b.t.Helper()
	b.do(nil, "press", map[string]any{"text": key})
}

// Sees waits until an element is visible.
func (b *Browser) Sees(selector string) {
	b.t.Helper()
	b.do(nil, "visible", map[string]any{"selector": selector})
}

// Text is the text of the first element.
func (b *Browser) Text(selector string) (text string) {
	b.t.Helper()
	b.do(&text, "text", map[string]any{"selector": selector})
	return text
}

// Count is how many elements there are now.
func (b *Browser) Count(selector string) (n int) {
	b.t.Helper()
	b.do(&n, "count", map[string]any{"selector": selector})
	return n
}

// Evaluate evaluates an expression of JavaScript in the page.
func (b *Browser) Evaluate(expression string, into any) {
	b.t.Helper()
	b.do(into, "evaluate", map[string]any{"text": expression})
}

// Complaints are the errors that the page has caused in the browser's console.
func (b *Browser) Complaints() (texts []string) {
	b.t.Helper()
	b.do(&texts, "complaints", nil)
	return texts
}

// Accessibility are the rules of WCAG 2.2 AA that the page breaks, as axe finds them.
func (b *Browser) Accessibility() (broken []string) {
	b.t.Helper()
	b.do(&broken, "accessibility", nil)
	return broken
}
