// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
)

// screens are what the commands print, as tests have seen it: the golden of each, and what a reader should see in it.
var screens = []struct{ command, golden, is string }{
	{
		"audit", "cmd/audit/testdata/found-80.golden",
		"Argo CD broke the order once, and alice once, by hand. Some rollouts have other explanations, too.",
	},
	{
		"get", "cmd/rollout/testdata/get-believed-80.golden",
		"The ApplicationSet controller still believes that `guestbook-dev` is done, and would start step 2 without the gate.",
	},
	{
		"explain", "cmd/rollout/testdata/explain-held-80.golden",
		"Two Applications of step 2 hold one of step 3 up.",
	},
	{
		"simulate", "cmd/simulate/testdata/without-gate.80.golden",
		"Argo CD alone: `--without-gate`.",
	},
	{
		"doctor", "cmd/doctor/testdata/broken-argocd-80.golden",
		"Much is wrong here. Argo CD installed stepgate, so findings say what to commit.",
	},
}

// screensPage has the screens.
func screensPage() (string, error) {
	page := "# Screens\n\n[The commands](../cli.md) print these, at 80 columns.\n"
	for _, s := range screens {
		text, err := os.ReadFile(s.golden)
		if err != nil {
			return "", err
		}
		page += "\n## stepgate " + s.command + "\n\n" + s.is + "\n\n```text\n" + strings.Trim(string(text), "\n") + "\n```\n"
	}
	return page, nil
}
