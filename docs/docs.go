// Package docs has the pages that the program shows parts of.
package docs

import _ "embed"

// Decisions is the page that says for every reason what it means and what to do.
//
//go:embed decisions.md
var Decisions string
