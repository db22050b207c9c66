// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDecodeIsBounded decodes Applications with as many objects as one part may have, and with one more.
func TestDecodeIsBounded(t *testing.T) {
	for name, format := range map[string]string{
		"the operation's resources": `{"operation":{"sync":{"resources":[LIST]}}}`,
		"the operation's sources":   `{"operation":{"sync":{"sources":[LIST]}}}`,
		"the sources":               `{"spec":{"sources":[LIST]}}`,
		"the history":               `{"status":{"history":[LIST]}}`,
		"the compared sources":      `{"status":{"sync":{"comparedTo":{"sources":[LIST]}}}}`,
		"the last operation":        `{"status":{"operationState":{"operation":{"sync":{"resources":[LIST]}}}}}`,
		"the owners":                `{"metadata":{"ownerReferences":[LIST]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			around := strings.Count(format, "{")
			with := func(n int) []byte {
				return []byte(strings.Replace(format, "LIST", "{}"+strings.Repeat(",{}", n-1), 1))
			}
			_, err := Decode(with(maxObjects - around))
			g.Expect(err).NotTo(HaveOccurred())
			_, err = Decode(with(maxObjects + 1))
			g.Expect(err).To(MatchError(ContainSubstring("more than 20000 or")))
			_, err = Decode([]byte(strings.Replace(format, "LIST", `""`+strings.Repeat(`,""`, maxValues+1), 1)))
			g.Expect(err).To(MatchError(ContainSubstring("or 200000")), "of any kind")
		})
	}
}

// TestDecodeLeavesTheBulkUnbounded decodes an Application with many objects in parts that no decision needs.
func TestDecodeLeavesTheBulkUnbounded(t *testing.T) {
	g := NewWithT(t)
	list := "[{}" + strings.Repeat(",{}", maxObjects) + "]"
	app, err := Decode([]byte(`{"metadata":{"name":"prod","managedFields":` + list + `},"status":{"resources":` + list +
		`,"sync":{"status":"Synced"}}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(app.Metadata.Name).To(Equal("prod"))
	g.Expect(app.Status.Sync.Status).To(BeEquivalentTo("Synced"))
}

func TestCount(t *testing.T) {
	for text, want := range map[string][2]int{
		``: {0, 0}, `{}`: {1, 0}, `[{},{"a":{}}]`: {3, 1}, `{"a":"{,{"}`: {1, 0}, `{"a\"{":"\\","b":{}}`: {2, 1}, `"{\\\",{`: {0, 0},
	} {
		objects, values := count([]byte(text))
		NewWithT(t).Expect([2]int{objects, values}).To(Equal(want), text)
	}
}

// BenchmarkDecodeWorst decodes the largest body of one kind of list: B/op is what a client can have stepgate allocate.
func BenchmarkDecodeWorst(b *testing.B) {
	for name, format := range map[string]string{
		"history":     `{"status":{"history":[LIST]}}`,
		"resources":   `{"operation":{"sync":{"resources":[LIST]}}}`,
		"syncOptions": `{"operation":{"sync":{"syncOptions":[STRINGS]}}}`,
		"unknown":     `{"status":{"sync":{"comparedTo":{"destination":{"unknown":[LIST]}}}}}`,
		"fields":      `{"status":{"history":[FIELDS]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			raw := strings.Replace(format, "LIST", "{}"+strings.Repeat(",{}", maxObjects-10), 1)
			raw = strings.Replace(raw, "FIELDS", `{"unknown":1}`+strings.Repeat(`,{"unknown":1}`, maxObjects-10), 1)
			raw = strings.Replace(raw, "STRINGS", `""`+strings.Repeat(`,""`, maxValues), 1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode([]byte(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
