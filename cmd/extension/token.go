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

// token is the file with the secret. It is read for every request, so that a new secret counts at once.
type token string

// check fails unless the headers have the secret.
func (t token) check(h http.Header) error {
	text, err := os.ReadFile(string(t))
	secret := strings.TrimSpace(string(text))
	if err != nil || secret == "" {
		return &failure{http.StatusServiceUnavailable, "stepgate has no secret to know argocd-server by: the file of " +
			"--ui-token-file is missing or empty"}
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
