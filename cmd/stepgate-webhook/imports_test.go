// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// kept are packages, with all below them, that a program that stands before every sync has no need of: what tells
// people, what shows a rollout, what reports, and the clients of chat services and clouds that come with them.
var kept = []string{
	"github.com/argoproj/notifications-engine",
	"github.com/aws",
	"github.com/slack-go",
	"github.com/stepgate/stepgate/cmd/audit",
	"github.com/stepgate/stepgate/cmd/dashboard",
	"github.com/stepgate/stepgate/cmd/doctor",
	"github.com/stepgate/stepgate/cmd/extension",
	"github.com/stepgate/stepgate/cmd/lint",
	"github.com/stepgate/stepgate/cmd/notify",
	"github.com/stepgate/stepgate/cmd/page",
	"github.com/stepgate/stepgate/cmd/rollout",
	"github.com/stepgate/stepgate/cmd/simulate",
	"github.com/stepgate/stepgate/cmd/simulation",
	"golang.org/x/crypto/x509roots",
}

// TestTheWebhookImportsNoReport looks at all that the program is linked from, and whether it would notice: the reporter
// has most of it.
func TestTheWebhookImportsNoReport(t *testing.T) {
	g := NewWithT(t)
	g.Expect(keptIn(g, "../stepgate-webhook")).To(BeEmpty())
	g.Expect(keptIn(g, "../stepgate-reporter")).To(ContainElements("github.com/argoproj/notifications-engine",
		"github.com/slack-go", "github.com/stepgate/stepgate/cmd/dashboard", "github.com/stepgate/stepgate/cmd/notify"))
}

// keptIn lists the packages of kept that a program imports, directly or not.
func keptIn(g Gomega, program string) (found []string) {
	text, err := exec.Command("go", "list", "-deps", program).Output()
	g.Expect(err).NotTo(HaveOccurred())
	packages := strings.Fields(string(text))
	g.Expect(packages).To(ContainElement("github.com/stepgate/stepgate/policy"))
	for _, name := range kept {
		if slices.ContainsFunc(packages, func(p string) bool { return p == name || strings.HasPrefix(p, name+"/") }) {
			found = append(found, name)
		}
	}
	return found
}
