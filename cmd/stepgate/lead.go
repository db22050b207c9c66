// SPDX-License-Identifier: Apache-2.0

package main

import (
	"html"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/browser"
)

// lead is a file that leads a browser to an address. A browser is started with what it opens among its arguments, and
// everybody on the machine can read these. So an address with a token is in a file that only its user may read, and
// the browser is given the file. The zero value is none.
type lead struct {
	dir, file string
	// err is why there is no file.
	err error
}

// leadTo writes the file, in a folder of its own. That is in the user's home, and not hidden there: a browser that runs
// in a sandbox reads neither hidden folders nor the machine's /tmp.
func leadTo(address string) (l lead) {
	home, err := os.UserHomeDir()
	if err == nil {
		l.dir, err = os.MkdirTemp(home, "stepgate-dashboard-")
	}
	if err != nil { // somebody without a home
		l.dir, l.err = os.MkdirTemp("", "stepgate-dashboard-")
	}
	if l.err != nil {
		return l
	}
	address = html.EscapeString(address)
	text := `<!doctype html><meta charset="utf-8"><title>stepgate</title>` +
		`<meta http-equiv="refresh" content="0; url=` + address + `"><a href="` + address + `">Open the dashboard</a>` + "\n"
	l.file = filepath.Join(l.dir, "open.html")
	l.err = os.WriteFile(l.file, []byte(text), 0o600)
	return l
}

// open has a browser open the file, and returns when what starts browsers has ended.
func (l lead) open() error {
	if l.err != nil {
		return l.err
	}
	browser.Stdout, browser.Stderr = io.Discard, io.Discard // what xdg-open tried is no help
	return browser.OpenFile(l.file)
}

// remove removes the file, if it is still there.
func (l lead) remove() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir) // its token is worth nothing without the server
	}
}
