// SPDX-License-Identifier: Apache-2.0

// Package page holds the web page of `stepgate dashboard` as it was built. The sources are in src; `npm ci` and
// `npm run build` in this directory build them into built, which is committed, so that `go build` does not need npm.
package page

import (
	"embed"
	"io/fs"
)

//go:embed built
var embedded embed.FS

// Files are the files that a browser may ask for: index.html, dashboard.js, dashboard.css, licences.txt and sources.txt.
// extension.js is the extension of Argo CD's UI, which `make extension` packs.
var Files = sub()

func sub() fs.FS {
	files, err := fs.Sub(embedded, "built")
	if err != nil {
		panic(err) // "built" is a valid path: fs.Sub fails for no other reason.
	}
	return files
}
