package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// instruction is an instruction of the Dockerfile.
type instruction struct{ name, args string }

// instructions are all instructions of the Dockerfile that fill one line.
func instructions(g Gomega) (all []instruction) {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, line := range regexp.MustCompile(`(?m)^([A-Z]+) (.*)$`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, instruction{line[1], line[2]})
	}
	return all
}

// copied are the files and folders that the Dockerfile copies from the checkout.
func copied(g Gomega) (paths []string) {
	for _, i := range instructions(g) {
		if words := strings.Fields(i.args); i.name == "COPY" && !strings.HasPrefix(i.args, "--from") {
			paths = append(paths, words[:len(words)-1]...)
		}
	}
	g.Expect(paths).To(ContainElements("go.mod", "cmd"))
	return paths
}

// TestTheDockerfileMakesTheSameImage compares the last stage of the Dockerfile, with which people build the image
// themselves, with the released image.
func TestTheDockerfileMakesTheSameImage(t *testing.T) {
	g := NewWithT(t)
	var last []instruction
	for _, i := range instructions(g) {
		if i.name == "FROM" {
			last = nil
		}
		last = append(last, i)
	}
	r := madeUp(t)
	image, err := r.image(r.platforms[0])
	g.Expect(err).NotTo(HaveOccurred())
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	entrypoint, err := json.Marshal(config.Config.Entrypoint)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(last).To(HaveLen(5))
	labels := last[1]
	g.Expect(last).To(Equal([]instruction{
		{"FROM", "scratch"},
		{"LABEL", labels.args},
		{"COPY", "--from=build /stepgate-webhook /stepgate-webhook"},
		{"USER", config.Config.User},
		{"ENTRYPOINT", string(entrypoint)},
	}))
	g.Expect(labels.args).To(ContainSubstring("org.opencontainers.image.source="))
	for _, label := range regexp.MustCompile(`(\S+)="([^"]*)"`).FindAllStringSubmatch(labels.args, -1) {
		g.Expect(config.Config.Labels).To(HaveKeyWithValue(label[1], label[2]))
	}
}
