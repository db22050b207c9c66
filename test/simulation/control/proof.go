// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
)

// ofProof is for the parts that are looked for in all histories of a small world.
const ofProof = "proof"

// inAll are those parts.
func inAll() []part {
	all := []part{
		take("TakenBack", "webhook/history/completions.go", `r.completions = kept`, `_ = kept`),
		take("FoundByAFailure", "webhook/history/deployed.go", `app.LastFull.AtCompared && app.LastFull.Phase == "Succeeded" ||`,
			`app.LastFull.AtCompared ||`),
		take("FailedInHooks", "webhook/argocd/operated.go", `if o.failed() && !o.Applied && before != nil`,
			`if false && !o.Applied && before != nil`),
		take("UnseenOperation", "policy/done.go", `in.sees(a) &&`, ``),
		take("StampCarries", "webhook/argocd/stamp.go", `s.Last = last`, `_ = s.Last`),
	}
	return in(ofProof, all)
}

// inProof goes through all histories of a small world.
func (c *control) inProof(overlay string) (string, error) {
	program := filepath.Join(c.dir, "proof")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "-overlay", overlay,
		"./test/simulation/proof/cmd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	// The exit status says that something starts early.
	out, _ := exec.Command(program, "-events", "5", "-wide", "4").Output()
	found := early.FindSubmatch(out)
	if found == nil {
		return "", nil
	}
	return fmt.Sprintf("early after %s events in all histories: %s", found[1], found[2]), nil
}

// early is the end of a history with an early start.
var early = regexp.MustCompile(`(?m)^ *(\d+)\. .*\nEARLY: (.*)$`)
