// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestBundle(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pems := map[string][]byte{
		"garbage": []byte("not PEM at all\n"),
		"key":     encode("PRIVATE KEY", []byte("secret")),
		"broken":  encode("CERTIFICATE", []byte("no ASN.1")),
		"old":     makeCA(t, "old", now, now.Add(-time.Second)).pem(),
		"last":    makeCA(t, "last", now, now).pem(),
	}
	for _, name := range []string{"a", "b", "c"} {
		// All have one subject, as the authority's have.
		pems[name] = makeCA(t, authorityName, now, now.Add(time.Hour)).pem()
	}
	bundle := func(names string) []byte {
		var all []byte
		for _, name := range strings.Fields(names) {
			NewWithT(t).Expect(pems).To(HaveKey(name))
			all = append(all, pems[name]...)
		}
		return all
	}

	for name, tc := range map[string]struct {
		existing, authorities string
		want                  string
		wantChanged           bool
	}{
		"an empty bundle gets the CA":                      {"", "a", "a", true},
		"a new CA is appended":                             {"b", "a", "b a", true},
		"the order of what is there stays":                 {"c a b", "b", "c a b", false},
		"a CA that is there is no change":                  {"a", "a", "a", false},
		"a previous CA stays":                              {"a b", "b", "a b", false},
		"an expired CA goes":                               {"old a", "a", "a", true},
		"a CA is kept to its last moment":                  {"last a", "a", "last a", false},
		"an expired CA is not added":                       {"a", "old", "a", false},
		"duplicates are removed":                           {"a b a", "b", "a b", true},
		"text between certificates is dropped":             {"a garbage b", "a", "a b", true},
		"what is no certificate is dropped":                {"key broken a", "a", "a", true},
		"only garbage is replaced":                         {"garbage", "a", "a", true},
		"nothing usable gives nothing, and is not written": {"old", "old", "", false},
		"several CAs are appended in their order":          {"a", "c b", "a c b", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			authorities := parseBundle(bundle(tc.authorities))
			merged := mergeBundle(bundle(tc.existing), authorities, now)
			g.Expect(string(merged)).To(Equal(string(bundle(tc.want))))
			g.Expect(mergeBundle(merged, authorities, now)).To(Equal(merged), "merging again changes nothing")

			wanted, changed := withBundles(validatingBundles(configurationOf(bundle(tc.existing))), authorities, now)
			g.Expect(changed).To(Equal(tc.wantChanged))
			if changed {
				g.Expect(wanted.webhooks).To(HaveLen(1))
				g.Expect(bytes.Equal(wanted.webhooks[0].caBundle, merged)).To(BeTrue())
			}
		})
	}
}

func TestEveryWebhookGetsItsBundle(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a, b := makeCA(t, "a", now, now.Add(time.Hour)), makeCA(t, "b", now, now.Add(time.Hour))

	wanted, changed := withBundles(validatingBundles(configurationOf(a.pem(), b.pem())), parseBundle(a.pem()), now)

	g.Expect(changed).To(BeTrue())
	g.Expect(wanted.webhooks).To(HaveLen(2), "an entry left out of an apply would lose its caBundle")
	g.Expect(wanted.webhooks[0].caBundle).To(Equal(a.pem()))
	g.Expect(wanted.webhooks[1].caBundle).To(Equal(append(b.pem(), a.pem()...)))
}
