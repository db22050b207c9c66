package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// chart is what the pages rest on of the chart.
type chart struct {
	Version    string `json:"version"`
	AppVersion string `json:"appVersion"`
	Image      struct {
		Registry   string `json:"registry"`
		Repository string `json:"repository"`
		Tag        string `json:"tag"`
	} `json:"image"`
}

func readChart(g Gomega) (c chart) {
	for _, file := range []string{"Chart.yaml", "values.yaml"} {
		g.Expect(yaml.Unmarshal([]byte(read(g, "charts/stepgate/"+file)), &c)).To(Succeed())
	}
	return c
}

// TestTheDocumentedImageIsTheOneThatTheChartPulls compares every documented build with the values of the chart.
func TestTheDocumentedImageIsTheOneThatTheChartPulls(t *testing.T) {
	g := NewWithT(t)
	c := readChart(g)
	g.Expect(c.Image.Tag).To(BeEmpty(), "the chart's default tag is v and the appVersion")
	builds := 0
	for page, text := range pages(g) {
		for _, command := range commands(text) {
			_, image, isBuild := strings.Cut(command, " -t ")
			if !isBuild || !strings.HasPrefix(command, "docker build") {
				continue
			}
			builds++
			image, _, _ = strings.Cut(image, " ")
			want := c.Image.Registry
			if strings.HasPrefix(image, "REGISTRY/") {
				want = "REGISTRY"
				g.Expect(text).To(ContainSubstring("--set image.registry=REGISTRY"), page)
			} else {
				g.Expect(text).To(ContainSubstring("kind load docker-image "+image), page)
			}
			g.Expect(image).To(Equal(want+"/"+c.Image.Repository+":v"+c.AppVersion), page)
			g.Expect(command).To(ContainSubstring("VERSION=v"+c.AppVersion), page)
		}
	}
	g.Expect(builds).To(BeNumerically(">=", 3))
}

func TestReleaseCheck(t *testing.T) {
	g := NewWithT(t)
	check := func(tag string) (string, error) {
		command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "release-check", "TAG="+tag)
		command.Dir = root
		text, err := command.CombinedOutput()
		return string(text), err
	}
	c := readChart(g)
	g.Expect(c.AppVersion).To(Equal(c.Version))
	text, err := check("v" + c.Version)
	g.Expect(err).NotTo(HaveOccurred(), text)
	for _, wrong := range []string{"v99.0.0", c.Version + "-rc1", ""} {
		text, err = check(wrong)
		g.Expect(err).To(HaveOccurred(), wrong)
		g.Expect(text).To(ContainSubstring("is not v and the version of charts/stepgate/Chart.yaml"))
	}
	g.Expect(read(g, ".github/workflows/release.yaml")).To(ContainSubstring(`make release-check TAG="$TAG"`))
}

// TestActionsArePinned wants a commit, and the version that it is, for every action.
func TestActionsArePinned(t *testing.T) {
	g := NewWithT(t)
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(paths).NotTo(BeEmpty())
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		g.Expect(err).NotTo(HaveOccurred())
		for _, use := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(read(g, name), -1) {
			g.Expect(use[1]).To(MatchRegexp(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`), name)
		}
	}
}
