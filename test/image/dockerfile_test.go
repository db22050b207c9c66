// SPDX-License-Identifier: Apache-2.0

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

// TestTheDockerfileMakesTheSameImages compares the stages of the Dockerfile with which people build the images
// themselves with the released images. The webhook's is the last one, which docker builds unless it is told another.
func TestTheDockerfileMakesTheSameImages(t *testing.T) {
	g := NewWithT(t)
	stages, last := map[string][]instruction{}, ""
	for _, i := range instructions(g) {
		if i.name == "FROM" {
			last = i.args[strings.LastIndex(i.args, " ")+1:]
		}
		stages[last] = append(stages[last], i)
	}
	g.Expect(last).To(Equal("webhook"))
	for _, p := range programs {
		part := strings.TrimPrefix(p.name, "stepgate-")
		expectStage(t, p, part, stages[part])
	}
}

// expectStage expects a stage of the Dockerfile that makes the image of a program.
func expectStage(t *testing.T, p program, stage string, last []instruction) {
	t.Helper()
	g := NewWithT(t)
	r := madeUp(t)
	r.program = p
	for _, platform := range r.platforms {
		g.Expect(os.WriteFile(r.binary(platform), nil, 0o600)).To(Succeed())
	}
	image, err := r.image(r.platforms[0])
	g.Expect(err).NotTo(HaveOccurred())
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	entrypoint, err := json.Marshal(config.Config.Entrypoint)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(last).To(HaveLen(5))
	labels := last[1]
	g.Expect(last).To(Equal([]instruction{
		{"FROM", "scratch AS " + stage},
		{"LABEL", labels.args},
		{"COPY", "--from=build-" + stage + " /" + p.name + " /" + p.name},
		{"USER", config.Config.User},
		{"ENTRYPOINT", string(entrypoint)},
	}))
	g.Expect(labels.args).To(ContainSubstring("org.opencontainers.image.source="))
	for _, label := range regexp.MustCompile(`(\S+)="([^"]*)"`).FindAllStringSubmatch(labels.args, -1) {
		g.Expect(config.Config.Labels).To(HaveKeyWithValue(label[1], label[2]))
	}
}
