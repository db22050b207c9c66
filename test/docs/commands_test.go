// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const root = "../.."

func read(g Gomega, path string) string {
	text, err := os.ReadFile(filepath.Join(root, path))
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// pages are all pages for people, by path.
func pages(g Gomega) map[string]string {
	all := map[string]string{}
	for _, pattern := range []string{
		"*.md", "docs/*.md", "docs/reference/*.md", "charts/stepgate/README.md", "test/README.md", "test/e2e/*.md",
	} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			g.Expect(err).NotTo(HaveOccurred())
			all[name] = read(g, name)
		}
	}
	return all
}

// instead are the targets that no workflow makes, each with the one that a workflow makes in its place.
var instead = map[string]string{
	"generate":       "generated", // generates into memory and compares
	"check":          "lint",      // and unit
	"build":          "chart-test",
	"help":           "unit", // TestMakeHelp
	"help-all":       "unit",
	"release-check":  "unit", // TestReleaseCheck
	"release-image":  "release-rehearsal",
	"release-plugin": "release-rehearsal",
	"extension":      "extension-test", // TestTheArchive
}

// notRun are the targets that are documented and not run, with the reason.
var notRun = map[string]string{
	"clean":    "it removes what the other targets have built",
	"test-all": "its parts run side by side",
}

// made are all targets that the workflows of changes and of every night make.
func madeByWorkflows(g Gomega, m makefile) []string {
	return m.closure(append(jobs(read(g, ".github/workflows/ci.yaml")),
		jobs(read(g, ".github/workflows/nightly.yaml"))...)...)
}

// makefiles are the Makefile and what it includes.
func makefiles(g Gomega) string {
	text := read(g, "Makefile")
	for _, included := range []string{"test/suites.mk", "test/release.mk", "test/tools.mk"} {
		text += "\n" + read(g, included)
	}
	return text
}

func TestSomeJobRunsEveryDocumentedMakeTarget(t *testing.T) {
	g := NewWithT(t)
	m := parse(makefiles(g))
	run := madeByWorkflows(g, m)
	for page, text := range pages(g) {
		for _, command := range commands(text) {
			words := strings.Fields(command)
			i := slices.Index(words, "make")
			if i < 0 {
				continue
			}
			for _, word := range words[i+1:] {
				if name, _, set := strings.Cut(word, "="); set {
					g.Expect(m.text).To(ContainSubstring("$("+name+")"), "%s: `%s` sets a variable that the Makefile does not use",
						page, command)
					continue
				}
				if !regexp.MustCompile(`^[a-z][a-z0-9-]+$`).MatchString(word) {
					break // the value of a variable, or a placeholder
				}
				g.Expect(m.needs).To(HaveKey(word), "%s names `make %s`, which is not a target", page, word)
				if notRun[word] == "" && !slices.Contains(run, word) {
					g.Expect(run).To(ContainElement(instead[word]), "%s names `make %s`, and no job runs it or one in its place",
						page, word)
				}
			}
		}
	}
}

// TestMakeHelp shows no more targets than fit on a screen; what few people call is in test/*.mk, and shown by help-all.
func TestMakeHelp(t *testing.T) {
	g := NewWithT(t)
	shown := map[string]string{}
	for _, target := range []string{"help", "help-all"} {
		command := exec.CommandContext(t.Context(), "make", target)
		command.Dir = root
		text, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(text))
		shown[target] = string(text)
	}
	g.Expect(strings.Count(shown["help"], "\n  make ")).To(And(BeNumerically(">", 10), BeNumerically("<=", 15)))
	for name := range instead {
		g.Expect(shown["help-all"]).To(ContainSubstring("make " + name + " "))
	}
}

// A change runs every part of `make test-all` in a job of its own, and every night runs every suite that test/suites.mk
// calls long.
func TestTheWorkflows(t *testing.T) {
	g := NewWithT(t)
	g.Expect(read(g, ".ci/run")).To(HaveSuffix(
		"exec make test e2e-quick e2e-beside-quick faults-quick bench-quick verify pages extension-test fuzz-quick\n"))
	m := parse(makefiles(g))
	changes := jobs(read(g, ".github/workflows/ci.yaml"))
	g.Expect(changes).To(ConsistOf(append(m.needs["test-all"], "vulncheck", "kubernetes-versions", "site-look",
		"dashboard-look", "dashboard-argocd", "extension-look")))
	nightly := read(g, ".github/workflows/nightly.yaml")
	g.Expect(nightly).To(MatchRegexp(`schedule:\n +- cron: "\d+ \d+ \* \* \*"`))
	_, long, _ := strings.Cut(m.text, "##@ The long suites")
	long, _, _ = strings.Cut(long, "##@")
	var suites []string
	for _, match := range regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindAllStringSubmatch(long, -1) {
		suites = append(suites, match[1])
	}
	// for vulnerabilities that become known while nothing changes here
	g.Expect(jobs(nightly)).To(ConsistOf(append(suites, "vulncheck")))
}

// run says for every other documented command where CI runs it: a file, and a text in that file that runs it. A command
// is named by its first two words. kubectl is missing: test/pages runs the console blocks, and the tests make the calls
// of the other commands as clients.
var run = map[string]struct{ file, text string }{
	"stepgate-webhook serve":  {"test/installed/replica.go", `"serve"`},
	"stepgate-reporter serve": {"test/installed/reporter.go", `"serve"`},
	"stepgate selftest":       {"test/chart/serve_test.go", `"selftest"`},
	"stepgate version":        {"cmd/command/version_test.go", `"version"`},
	"stepgate get":            {"test/integration/cli_test.go", `"get"`},
	"stepgate explain":        {"test/integration/cli_test.go", `"explain"`},
	"stepgate wait":           {"test/integration/cli_test.go", `"wait"`},
	"stepgate pause":          {"test/integration/verbs_test.go", `"pause"`},
	"stepgate resume":         {"test/integration/verbs_test.go", `"resume"`},
	"stepgate approve":        {"test/integration/verbs_test.go", `"approve"`},
	"stepgate audit":          {"test/integration/cli_test.go", `"audit"`},
	"stepgate history":        {"test/integration/history_test.go", `"history"`},
	"stepgate lint":           {"test/integration/cli_test.go", `"lint"`},
	"stepgate simulate":       {"test/integration/cli_test.go", `"simulate"`},
	"stepgate dashboard":      {"test/browser/dashboard.go", `"dashboard"`},
	"stepgate doctor":         {"test/chart/doctor_test.go", `"doctor"`},
	"helm install":            {"test/chart/certmanager_test.go", `"install", "stepgate"`},
	"helm test":               {"test/chart/serve_test.go", `"test", release`},
	"helm upgrade":            {"test/chart/release_test.go", `"upgrade", "stepgate"`},
	"helm rollback":           {"test/chart/release_test.go", `"rollback", "stepgate"`},
	"helm uninstall":          {"test/chart/release_test.go", `"uninstall", "stepgate"`},
	"helm template":           {"test/chart/template_test.go", `"template", "stepgate"`},
	"docker build":            {"test/chart/image_test.go", `"make", "build-webhook"`},
	"argocd appset":           {"test/argocd/cli.go", `"appset", "generate"`},
	"argocd stepgate":         {"test/e2e/commandline_test.go", `"stepgate", "get"`},
	"argocd app":              {"test/argocd/cli.go", `c.app(ctx, "sync"`},
	"go test":                 {"test/suites.mk", "go test -run '^$$' -bench ."},
	"go build":                {"test/tools.mk", "go build"},
	"go run":                  {"Makefile", "go run"},
	"go version":              {"test/image/sbom_test.go", `"version", "-m"`},
}

func TestSomeJobRunsEveryOtherDocumentedCommand(t *testing.T) {
	g := NewWithT(t)
	for page, text := range pages(g) {
		for _, command := range commands(text) {
			words := strings.Fields(command)
			for assignment.MatchString(words[0]) {
				words = words[1:]
			}
			if words[0] == "make" || words[0] == "kubectl" {
				continue
			}
			if match := binary.FindStringSubmatch(words[0]); match != nil {
				checkBinary(g, page, match[1], words[1:])
				continue
			}
			where, ok := run[words[0]+" "+words[1]]
			g.Expect(ok).To(BeTrue(), "%s names `%s`: say in this test where CI runs it", page, command)
			g.Expect(read(g, where.file)).To(ContainSubstring(where.text), "%s names `%s`", page, command)
			for _, word := range words[2:] {
				if words[0] == "go" && strings.HasPrefix(word, "./") {
					g.Expect(filepath.Join(root, strings.TrimSuffix(word, "..."))).To(BeADirectory(), "%s: `%s`", page, command)
				}
			}
		}
	}
}

// checkBinary expects that make builds bin/NAME from test/NAME or cmd/NAME, which has the flags.
func checkBinary(g Gomega, page, name string, args []string) {
	sources, err := filepath.Glob(filepath.Join(root, "*", name, "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sources).NotTo(BeEmpty(), "%s names bin/%s, which nothing builds", page, name)
	code := ""
	for _, path := range sources {
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		code += string(text)
	}
	if strings.Contains(code, "report.Flag(") {
		code += read(g, "test/report/results.go") // the flag --results
	}
	g.Expect(makefiles(g)).To(MatchRegexp(`\$\(BIN\)/%s -`, name), "%s names bin/%s, which CI does not run", page,
		name)
	for _, arg := range args {
		if flag, ok := strings.CutPrefix(arg, "--"); ok {
			flag, _, _ = strings.Cut(flag, "=")
			g.Expect(code).To(ContainSubstring(`"`+flag+`"`), "%s: bin/%s has no flag --%s", page, name, flag)
		}
	}
}

func TestCommandsOfAPage(t *testing.T) {
	NewWithT(t).Expect(commands("Run `make demo`, or\n\n```console\n$ make bench BENCH_FLAGS='--samples " +
		"100'\noutput\n$ helm install \\\n  stepgate\n```\n" +
		"`stepgate` is not a command; `KUBEBUILDER_ASSETS=x bin/e2e --demo` and `stepgate\nserve` are.\n```sh\nmake check # fast\n```\n")).To(Equal([]string{
		"KUBEBUILDER_ASSETS=x bin/e2e --demo", "helm install stepgate", "make bench BENCH_FLAGS='--samples 100'", "make check", "make demo", "stepgate serve",
	}))
}

func TestClosureOfATarget(t *testing.T) {
	m := parse("PARTS := test slow\ntest: unit two e2e-quick ## all\nunit: tools ## unit\nX := y\ntools: ## " +
		"tools\ntools: $(BIN)/etcd\n" +
		"two:\n\t@$(MAKE) -j3 pages\n\t@go list\n\t@$(MAKE) -j2 --output-sync=target chart-test\nall: $(PARTS)\n")
	g := NewWithT(t)
	g.Expect(m.closure("test")).To(Equal([]string{
		"test", "unit", "two", "e2e-quick", "tools", "pages", "chart-test", "$(BIN)/etcd",
	}))
	g.Expect(m.closure("all", "unit")[:4]).To(Equal([]string{"all", "unit", "test", "slow"}))
}

func TestJobsOfAWorkflow(t *testing.T) {
	g := NewWithT(t)
	g.Expect(jobs("      matrix:\n        target: [test, test-faults]\n    steps:\n      - run: make ${{ matrix.target " +
		"}}\n      - run: make vulncheck\n")).
		To(Equal([]string{"test", "test-faults", "vulncheck"}))
	g.Expect(jobs("        target:\n          - e2e\n          - soak-certs\n    steps:\n      - run: sudo " +
		"--preserve-env=PATH make e2e-node\n")).
		To(Equal([]string{"e2e", "soak-certs", "e2e-node"}))
}
