// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// reacts are the scripts of the versions of React that Argo CD's UI has had.
var reacts = map[string]func(g Gomega) string{
	"16": func(g Gomega) string { return umd(g, "16") },
	"18": func(g Gomega) string { return umd(g, "18") },
	"19": modules,
}

func packaged(g Gomega, path string) string {
	text, err := os.ReadFile(filepath.Join("node_modules", path))
	g.Expect(err).NotTo(HaveOccurred(), "run make extension-look")
	return string(text)
}

// umd are the scripts that set window.React and window.ReactDOM themselves.
func umd(g Gomega, version string) string {
	return packaged(g, "react-"+version+"/umd/react.development.js") +
		packaged(g, "react-dom-"+version+"/umd/react-dom.development.js")
}

// modules are those of React 19, which has no such scripts, with as much of a module loader as they need.
func modules(g Gomega) string {
	var text strings.Builder
	text.WriteString("const process = {env: {NODE_ENV: 'development'}}, defined = {}, loaded = {};\n" +
		"function require(name) {\n  if (!loaded[name]) { loaded[name] = {exports: {}}; defined[name](loaded[name], loaded[name].exports); }\n" +
		"  return loaded[name].exports;\n}\n")
	for name, path := range map[string]string{
		"react":             "react-19/cjs/react.development.js",
		"react/jsx-runtime": "react-19/cjs/react-jsx-runtime.development.js",
		"react-dom":         "react-dom-19/cjs/react-dom.development.js",
		"react-dom/client":  "react-dom-19/cjs/react-dom-client.development.js",
		"scheduler":         "react-dom-19/node_modules/scheduler/cjs/scheduler.development.js",
	} {
		fmt.Fprintf(&text, "defined[%q] = (module, exports) => {\n%s\n};\n", name, packaged(g, path))
	}
	return text.String() + "window.React = require('react');\n" +
		"window.ReactDOM = {...require('react-dom'), ...require('react-dom/client')};\n" +
		"window.ReactJSXRuntime = require('react/jsx-runtime');\n"
}

// host serves the host page with a version of React; all else is argocd-server's, with the session of an account.
func host(t *testing.T, react, account string) string {
	t.Helper()
	g := NewWithT(t)
	script := reacts[react](g)
	page, err := os.ReadFile("host.html")
	g.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(server.URL)
	g.Expect(err).NotTo(HaveOccurred())
	session := login(t, account)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /react.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write([]byte(script))
	})
	show := func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{
			Name: "argocd.token", Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	}
	mux.HandleFunc("GET /{$}", show)
	mux.HandleFunc("GET /stepgate", show)
	// No repo-server runs here, which knows the commits.
	mux.HandleFunc("GET /api/v1/applications/{name}/revisions/{revision}/metadata",
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"author":"Jane Doe <jane@example.com>","message":"Add a banner\n\nIt is blue."}`))
		})
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}
