// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"os"
	"strings"
)

// TokenHeader has the secret that argocd-server and stepgate share. argocd-server sets it, whatever a browser sends.
const TokenHeader = "Stepgate-Token"

// Tokens are the files with the secrets of the two extensions of argocd-server. They are read for every request, so that a
// new secret counts at once.
type Tokens struct {
	// Read has that of the extension stepgate, by which people look.
	Read string
	// Act has that of the extension stepgate-act, by which they act.
	Act string
}

// mayRead fails unless the headers have the secret of stepgate.
func (t Tokens) mayRead(h http.Header) error { return check(h, t.Read, "--ui-token-file") }

// mayAct fails unless the headers have the secret of stepgate-act, and that is another: who may look, may not act.
func (t Tokens) mayAct(h http.Header) error {
	if err := check(h, t.Act, "--ui-act-token-file"); err != nil {
		return err
	}
	if t.mayRead(h) == nil {
		return &failure{http.StatusServiceUnavailable, "nobody may act: the extensions stepgate and stepgate-act have the " +
			"same secret, and need two"}
	}
	return nil
}

// check fails unless the headers have the secret of a file.
func check(h http.Header, file, flag string) error {
	text, err := os.ReadFile(file) //nolint:gosec // a flag names it
	secret := strings.TrimSpace(string(text))
	if err != nil || secret == "" {
		return &failure{http.StatusServiceUnavailable, "stepgate has no secret to know argocd-server by: the file of " +
			flag + " is missing or empty"}
	}
	given := h.Values(TokenHeader)
	switch {
	case len(given) == 0:
		return refused("the header " + TokenHeader + " is missing: ask argocd-server")
	case len(given) > 1 || !same(given[0], secret):
		return refused("the header " + TokenHeader + " is wrong: argocd-server and stepgate need the same secret")
	}
	return nil
}

// same compares two texts in a time that tells nothing of them, not even their lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
