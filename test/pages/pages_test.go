// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/docs"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// notHere are the programs whose blocks are not played here, each with the reason.
var notHere = map[string]string{
	"make":                          "CI runs the target, or a quick form of it: test/docs checks that",
	"bin/bench":                     "CI runs the benchmark by `make bench-quick`",
	"argocd":                        "`make e2e-quick` runs it, with the real argocd",
	"sudo":                          "it installs a program on the machine",
	"cosign":                        "there is no release yet whose signature it could verify",
	"gh":                            "there is no release yet whose provenance it could verify",
	"test/quickstart/quickstart.sh": "`make quickstart` runs the steps that need no container engine, on the real Argo CD",
}

// play is how a block is played.
type play struct {
	// before happens before the last command.
	before func(*testing.T, *machine)
	// shows is a part of the last command's output.
	shows string
	// serves says that the last command runs until Ctrl-C, which it gets when it has shown that.
	serves bool
	// gate is what it does afterwards: it warns, if this is empty.
	gate string
}

// plays are the plays of the blocks by their last command. The others have to succeed, and the gate warns afterwards.
var plays = map[string]play{
	"kubectl get events -A --field-selector reason=SyncWouldBeDenied":                                      {before: rollOut, shows: guestbook.Application(guestbook.Set(""), "prod").Name},
	"kubectl -n stepgate logs -l app.kubernetes.io/name=stepgate --tail=-1 | grep 'not listed'":            {before: writeUnlisted, shows: cluster.Human},
	"kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration stepgate":                  {gate: off},
	"kubectl label namespace argocd stepgate.io/ignore=true":                                               {gate: off},
	"kubectl annotate applicationset -n argocd NAME stepgate.io/mode=enforce":                              {gate: denies},
	"helm upgrade stepgate CHART --namespace stepgate --reset-then-reuse-values --set config.mode=enforce": {gate: denies},
	"stepgate get NAME --namespace argocd":                                                                 {shows: "NotHealthy", gate: denies},
	"kubectl scale deployment stepgate -n stepgate --replicas=0":                                           {gate: off},
	"kubectl scale deployment stepgate -n stepgate --replicas=2":                                           {gate: denies},
	"stepgate approve guestbook -n argocd":                                                                 {before: needApproval, shows: guestbook.NewCommit},
	"stepgate get platform -n argocd":                                                                      {before: createWaves, shows: "wave 20"},
	"helm uninstall stepgate --namespace stepgate":                                                         {gate: off},
	"stepgate dashboard": {serves: true, shows: "The dashboard is at http://127.0.0.1:"},
}

// TestPages runs every console block of every page. stepgate is installed when a page begins, unless its block installs
// it.
func TestPages(t *testing.T) {
	g := NewWithT(t)
	webhook, err := installed.FreeAddress()
	g.Expect(err).NotTo(HaveOccurred())
	m := newMachine(t, webhook)
	createGuestbook(t)
	played := map[string]bool{}
	for _, page := range pages(g) {
		text, err := os.ReadFile(filepath.Join(shared.Root, page))
		g.Expect(err).NotTo(HaveOccurred())
		blocks := slices.DeleteFunc(docs.Blocks(string(text)), notPlayable)
		for i, block := range blocks {
			t.Run(fmt.Sprintf("%s:%d", page, block.Line), func(t *testing.T) {
				switch {
				case installs(block):
					m.begin(t, false)
				case i == 0:
					m.begin(t, true)
				}
				m.play(t, block.Commands)
			})
			played[last(block.Commands)] = true
		}
	}
	for command := range plays {
		g.Expect(played).To(HaveKey(command), "no page has this block any more")
	}
}

// pages are the paths of all pages.
func pages(g *WithT) (all []string) {
	for _, pattern := range []string{"*.md", "docs/*.md", "charts/stepgate/README.md"} {
		paths, err := filepath.Glob(filepath.Join(shared.Root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, path := range paths {
			page, err := filepath.Rel(shared.Root, path)
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, page)
		}
	}
	return all
}

func notPlayable(block docs.Block) bool {
	return slices.ContainsFunc(block.Commands, func(command string) bool {
		program, _, _ := strings.Cut(command, " ")
		return notHere[program] != ""
	})
}

func installs(block docs.Block) bool {
	return slices.ContainsFunc(block.Commands, func(command string) bool {
		return strings.HasPrefix(command, "helm install ")
	})
}

func last(commands []string) string { return commands[len(commands)-1] }

// begin brings the cluster into the state in which a block begins.
func (m *machine) begin(t *testing.T, installed bool) {
	t.Helper()
	m.run(t, "kubectl label namespace argocd stepgate.io/ignore-")
	m.run(t, "helm uninstall stepgate --namespace stepgate --ignore-not-found --wait")
	m.run(t, "kubectl annotate applicationset -n argocd guestbook stepgate.io/mode-")
	m.run(t, "kubectl delete events --all --namespace argocd")
	m.unload(t)
	if installed {
		m.run(t, "helm install stepgate oci://ghcr.io/stepgate/charts/stepgate --namespace stepgate --create-namespace "+
			"--wait")
		expectGate(t, warns)
	}
}

// play runs the commands of a block, and sees that the reader gets what the page promises.
func (m *machine) play(t *testing.T, commands []string) {
	t.Helper()
	p := plays[last(commands)]
	output := ""
	for i, command := range commands {
		if i == len(commands)-1 && p.before != nil {
			p.before(t, m)
		}
		if i == len(commands)-1 && p.serves {
			output = m.serve(t, command, p.shows)
			continue
		}
		output = m.run(t, command)
	}
	NewWithT(t).Expect(output).To(And(ContainSubstring(p.shows), Not(ContainSubstring("No resources found"))))
	expectGate(t, cmp.Or(p.gate, warns))
}
