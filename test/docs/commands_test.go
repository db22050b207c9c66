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
	for _, pattern := range []string{"*.md", "docs/*.md", "charts/stepgate/README.md", "test/README.md"} {
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

// quick are the targets that are too long for CI, each with the target that CI runs in its place.
var quick = map[string]string{
	"bench":            "bench-quick",
	"bench-size":       "bench-quick",
	"e2e":              "e2e-quick",
	"e2e-versions":     "e2e-oldest", // with e2e-quick, which runs the default version
	"e2e-clusters":     "e2e-quick",
	"faults":           "faults-quick",
	"fuzz":             "fuzz-quick",
	"simulate":         "simulate-quick",
	"simulate-control": "simulate-quick",
	"soak-certs":       "soak-quick",
	"soak-restarts":    "soak-quick",
	"generate":         "verify", // generates into memory and compares
	"build":            "chart-test",
	"help":             "unit", // TestMakeHelp
	"release-check":    "unit", // TestReleaseCheck
	"release-image":    "release-rehearsal",
	"release-plugin":   "release-rehearsal",
	"vulncheck":        "unit", // TestVulncheck, with databases of its own
}

// notInCI are the targets that are documented and not run, with the reason.
var notInCI = map[string]string{
	"clean":       "it removes what the other targets have built",
	"e2e-size":    "it plays ordinary rollouts, with many Applications, and takes most of an hour",
	"e2e-node":    "it needs root, cgroups and a kernel that lets it make namespaces",
	"e2e-control": "it plays the rollouts of e2e-quick, with parts of stepgate switched off",
}

func TestCIRunsEveryDocumentedMakeTarget(t *testing.T) {
	g := NewWithT(t)
	m := parse(read(g, "Makefile"))
	ci := append(m.closure("test"), m.closure("kubernetes-versions")...)
	for page, text := range pages(g) {
		for _, command := range commands(text) {
			words := strings.Fields(command)
			i := slices.Index(words, "make")
			if i < 0 {
				continue
			}
			for _, word := range words[i+1:] {
				if name, _, set := strings.Cut(word, "="); set {
					g.Expect(m.text).To(ContainSubstring("$("+name+")"), "%s: `%s` sets a variable that the Makefile does not use", page, command)
					continue
				}
				if !regexp.MustCompile(`^[a-z][a-z0-9-]+$`).MatchString(word) {
					break // the value of a variable, or a placeholder
				}
				g.Expect(m.needs).To(HaveKey(word), "%s names `make %s`, which is not a target", page, word)
				if notInCI[word] == "" && !slices.Contains(ci, word) {
					g.Expect(ci).To(ContainElement(quick[word]), "%s names `make %s`, and CI runs neither it nor a quick form of it", page, word)
				}
			}
		}
	}
}

func TestMakeHelp(t *testing.T) {
	g := NewWithT(t)
	command := exec.CommandContext(t.Context(), "make", "help")
	command.Dir = root
	text, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	for name := range quick {
		g.Expect(string(text)).To(ContainSubstring("make " + name + " "))
	}
}

// TestCIRunsThreeTargets wants `make test`, and jobs of their own for `make vulncheck`, which needs the network, and for
// `make kubernetes-versions`, which takes too long for `make test`. All run every week, too.
func TestCIRunsThreeTargets(t *testing.T) {
	g := NewWithT(t)
	g.Expect(read(g, ".ci/run")).To(HaveSuffix("exec make test\n"))
	workflow := read(g, ".github/workflows/ci.yaml")
	g.Expect(regexp.MustCompile(`run: (.*)`).FindAllString(workflow, -1)).To(Equal([]string{"run: make test", "run: make vulncheck", "run: make kubernetes-versions"}))
	g.Expect(workflow).To(MatchRegexp(`schedule:\n +- cron: "\d+ \d+ \* \* \d"`))
}

// run says for every other documented command where CI runs it: a file, and a text in that file that runs it. A command
// is named by its first two words. kubectl is missing: test/pages runs the console blocks, and the tests make the calls of the
// other commands as clients.
var run = map[string]struct{ file, text string }{
	"stepgate serve":    {"test/release/replica.go", `"serve"`},
	"stepgate selftest": {"test/chart/serve_test.go", "selftest"},
	"stepgate version":  {"test/chart/image_test.go", `"version"`},
	"stepgate get":      {"test/integration/cli_test.go", `"get"`},
	"stepgate explain":  {"test/integration/cli_test.go", `"explain"`},
	"stepgate wait":     {"test/integration/cli_test.go", `"wait"`},
	"stepgate pause":    {"test/integration/verbs_test.go", `"pause"`},
	"stepgate resume":   {"test/integration/verbs_test.go", `"resume"`},
	"stepgate approve":  {"test/integration/verbs_test.go", `"approve"`},
	"stepgate audit":    {"test/integration/cli_test.go", `"audit"`},
	"stepgate lint":     {"test/integration/cli_test.go", `"lint"`},
	"stepgate simulate": {"test/integration/cli_test.go", `"simulate"`},
	"stepgate doctor":   {"test/chart/doctor_test.go", `"doctor"`},
	"helm install":      {"test/chart/certmanager_test.go", `"install", "stepgate"`},
	"helm test":         {"test/chart/serve_test.go", `"test", release`},
	"helm upgrade":      {"test/chart/release_test.go", `"upgrade", "stepgate"`},
	"helm rollback":     {"test/chart/release_test.go", `"rollback", "stepgate"`},
	"helm uninstall":    {"test/chart/release_test.go", `"uninstall", "stepgate"`},
	"helm template":     {"test/chart/template_test.go", `"template", "stepgate"`},
	"docker build":      {"test/chart/image_test.go", `"make", "build"`},
	"argocd appset":     {"test/argocd/cli.go", `"appset", "generate"`},
	"argocd stepgate":   {"test/e2e/commandline.go", `"stepgate", "get"`},
	"argocd app":        {"test/argocd/cli.go", `c.app(ctx, "sync"`},
	"go test":           {"Makefile", "go test -run '^$$' -bench ."},
	"go build":          {"Makefile", "go build"},
	"go run":            {"Makefile", "go run"},
	"go version":        {"test/image/sbom_test.go", `"version", "-m"`},
}

func TestCIRunsEveryOtherDocumentedCommand(t *testing.T) {
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
	g.Expect(read(g, "Makefile")).To(MatchRegexp(`\$\(BIN\)/%s -`, name), "%s names bin/%s, which CI does not run", page, name)
	for _, arg := range args {
		if flag, ok := strings.CutPrefix(arg, "--"); ok {
			flag, _, _ = strings.Cut(flag, "=")
			g.Expect(code).To(ContainSubstring(`"`+flag+`"`), "%s: bin/%s has no flag --%s", page, name, flag)
		}
	}
}

func TestCommandsOfAPage(t *testing.T) {
	NewWithT(t).Expect(commands("Run `make demo`, or\n\n```console\n$ make bench BENCH_FLAGS='--samples 100'\noutput\n$ helm install \\\n  stepgate\n```\n" +
		"`stepgate` is not a command; `KUBEBUILDER_ASSETS=x bin/e2e --demo` and `stepgate\nserve` are.\n```sh\nmake check # fast\n```\n")).To(Equal([]string{
		"KUBEBUILDER_ASSETS=x bin/e2e --demo", "helm install stepgate", "make bench BENCH_FLAGS='--samples 100'", "make check", "make demo", "stepgate serve",
	}))
}

func TestClosureOfATarget(t *testing.T) {
	m := parse("test: unit two e2e-quick ## all\nunit: tools ## unit\nX := y\ntools: ## tools\ntools: $(BIN)/etcd\ntwo:\n\t@$(MAKE) -j2 --output-sync=target pages chart-test\n")
	NewWithT(t).Expect(m.closure("test")).To(Equal([]string{"test", "unit", "two", "e2e-quick", "tools", "pages", "chart-test", "$(BIN)/etcd"}))
}
