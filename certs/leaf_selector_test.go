// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
)

// leafWorld is all that a selector sees: the newest leaf, whose CommonName begins with the letter of its CA, and the
// letters of the CAs that are trusted.
type leafWorld struct {
	newest  *tls.Certificate
	trusted string
	absent  bool
	now     time.Time
}

func (w *leafWorld) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if w.newest == nil {
		return nil, errors.New("not signed")
	}
	return w.newest, nil
}

func (w *leafWorld) Accepts(certificate *tls.Certificate, now time.Time) error {
	if w.absent || certificate != nil && !now.After(certificate.Leaf.NotAfter) &&
		strings.Contains(w.trusted, string(certificate.Leaf.AuthorityKeyId)) {
		return nil
	}
	return errors.New("not trusted")
}

func (w *leafWorld) sign(name string) {
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: w.now, NotAfter: w.now.Add(time.Hour), AuthorityKeyId: []byte(name[:1]),
	}
	leaf.Subject.CommonName = name
	w.newest = &tls.Certificate{Certificate: [][]byte{nil}, Leaf: leaf}
}

// TestLeafSelector runs scenarios of these words: sign:X signs a leaf of the CA X, valid for an hour, and so does
// sign:X2; trust:XY makes the bundle verify leaves of X and Y and of nothing else; absent and present remove and
// restore the configuration; wait:D lets time pass. After each the selector looks; serve:X (serve:- for none) is what
// must be served then. It settles for 5 s.
func TestLeafSelector(t *testing.T) {
	for name, scenario := range map[string]string{
		"nothing is signed":                                      "serve:-",
		"at first start a leaf waits for the bundle":             "sign:a serve:- wait:1m serve:-",
		"at first start a leaf need not settle":                  "sign:a serve:- trust:a serve:a",
		"a new leaf is held back until the bundle carries it":    "trust:a sign:a serve:a sign:b serve:a wait:59m serve:a",
		"a new leaf is held back until it has settled":           "trust:a sign:a sign:b trust:ab serve:a wait:4999ms serve:a wait:1ms serve:b",
		"a leaf of the same CA need not settle":                  "trust:a sign:a sign:a2 serve:a2",
		"a leaf of the same CA waits for the bundle":             "trust:a sign:a trust: sign:a2 serve:a trust:a serve:a2",
		"a leaf of a CA that was always trusted settles":         "trust:ab sign:a sign:b serve:a wait:5s serve:b",
		"settling starts again when the bundle loses the CA":     "trust:a sign:a sign:b trust:ab wait:4s trust:a trust:ab wait:4s serve:a wait:1s serve:b",
		"a newer leaf settles for itself":                        "trust:abc sign:a sign:b wait:4s sign:c wait:1s serve:a wait:4s serve:c",
		"a leaf that was overtaken is never served":              "trust:a sign:a sign:b sign:c trust:abc wait:5s serve:c",
		"an expired leaf gives way to one that has not settled":  "trust:a sign:a wait:59m sign:b wait:1m trust:ab serve:b",
		"a leaf at its end gives way before it has ended":        "trust:a sign:a wait:3598s sign:b trust:ab serve:a wait:1s serve:a wait:1ms serve:b",
		"an expired leaf gives way to one that is not trusted":   "trust:a sign:a wait:59m sign:b wait:1m serve:a wait:1s serve:b",
		"a leaf is served to its last moment":                    "trust:a sign:a wait:1h sign:b serve:a",
		"an expired leaf is served while there is no other":      "trust:a sign:a wait:2h serve:a",
		"a served leaf that is refused gives way at once":        "trust:a sign:a sign:b serve:a trust:b serve:b",
		"a served leaf stays when the bundle is wiped":           "trust:a sign:a sign:b trust: wait:1m serve:a",
		"without a configuration the newest leaf is served":      "absent sign:a serve:a sign:b serve:b",
		"a configuration that appears does not unserve the leaf": "absent sign:a serve:a present serve:a",
		"a configuration that goes frees the held leaf":          "trust:a sign:a sign:b serve:a absent serve:b",
	} {
		t.Run(name, func(t *testing.T) { runLeafSelector(t, scenario) })
	}
}

func runLeafSelector(t *testing.T, scenario string) {
	t.Helper()
	g := NewWithT(t)
	w := &leafWorld{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	selector := newLeafSelector(w, w, 5*time.Second, func() time.Time { return w.now })
	for _, word := range strings.Fields(scenario) {
		verb, value, _ := strings.Cut(word, ":")
		switch verb {
		case "sign":
			w.sign(value)
		case "trust":
			w.trusted = value
		case "absent", "present":
			w.absent = verb == "absent"
		case "wait":
			d, err := time.ParseDuration(value)
			g.Expect(err).NotTo(HaveOccurred())
			w.now = w.now.Add(d)
		case "serve":
			expectServed(g, selector, value, scenario)
		default:
			t.Fatalf("no such word: %s", word)
		}
		selector.look(logr.Discard())
	}
}

func expectServed(g Gomega, selector *leafSelector, want, scenario string) {
	certificate, err := selector.GetCertificate(nil)
	if want == "-" {
		g.Expect(err).To(HaveOccurred(), scenario)
		return
	}
	g.Expect(err).NotTo(HaveOccurred(), scenario)
	g.Expect(certificate.Leaf.Subject.CommonName).To(Equal(want), scenario)
}

func TestLeafSelectorSaysWhyItWaits(t *testing.T) {
	g := NewWithT(t)
	w := &leafWorld{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	selector := newLeafSelector(w, w, 5*time.Second, func() time.Time { return w.now })

	selector.look(logr.Discard())
	_, err := selector.GetCertificate(nil)
	g.Expect(err).To(MatchError("no serving certificate has been signed yet: if this lasts, see that stepgate's service " +
		"account may get, list, watch, create and update the CA Secret: not signed"))

	w.sign("a")
	selector.look(logr.Discard())
	_, err = selector.GetCertificate(nil)
	g.Expect(err).To(MatchError("a serving certificate is signed, but held back: not trusted"))
}
