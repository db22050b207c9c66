// SPDX-License-Identifier: Apache-2.0

// Package docs checks the pages: every command that they name exists, and CI runs it.
package docs

import (
	"regexp"
	"slices"
	"strings"
)

// Block is a console block of a page.
type Block struct {
	// Line is where it begins, from 1.
	Line int
	// Commands are the lines after a prompt; a line that ends with a backslash is one with the next.
	Commands []string
}

// Blocks are the console blocks of a page in Markdown.
func Blocks(page string) []Block {
	var blocks []Block
	for _, at := range fence.FindAllStringSubmatchIndex(page, -1) {
		if page[at[2]:at[3]] != "console" {
			continue
		}
		block := Block{Line: 1 + strings.Count(page[:at[2]], "\n")}
		for _, line := range prompt.FindAllStringSubmatch(continuation.ReplaceAllString(page[at[4]:at[5]], " "), -1) {
			block.Commands = append(block.Commands, line[1])
		}
		blocks = append(blocks, block)
	}
	return blocks
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")
	prompt = regexp.MustCompile(`(?m)^ *\$ (.*)$`)
	// continuation is a line's end after which the command goes on.
	continuation = regexp.MustCompile(`\s*\\\n\s*`)
	inline       = regexp.MustCompile("`([^`]+)`")
	// assignment is a variable of the environment before a command.
	assignment = regexp.MustCompile(`^[A-Z_]+=`)
	binary     = regexp.MustCompile(`^(?:\./)?bin/([a-z0-9]+)$`)
	// subcommand keeps out the program's messages, which begin with its name as well.
	subcommand = regexp.MustCompile(`^[a-z]+( -.*)?$`)
)

// commands are the commands that a page in Markdown names: after a prompt in its blocks, and in its code spans.
func commands(page string) []string {
	page = strings.ReplaceAll(page, "\\\n", " ")
	var texts []string
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		for _, line := range prompt.FindAllStringSubmatch(block[2], -1) {
			texts = append(texts, line[1])
		}
		if block[1] == "sh" || block[1] == "bash" {
			texts = append(texts, strings.Split(block[2], "\n")...)
		}
	}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		texts = append(texts, span[1])
	}
	var found []string
	for _, text := range texts {
		text, _, _ = strings.Cut(text, " # ")
		if words := strings.Fields(text); isCommand(words) {
			found = append(found, strings.Join(words, " "))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// isCommand says that words are a program and its arguments: `stepgate` alone is a name.
func isCommand(words []string) bool {
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return len(words) == 1 && binary.MatchString(words[0])
	}
	return binary.MatchString(words[0]) || words[0] == "stepgate" &&
		subcommand.MatchString(strings.Join(words[1:], " ")) ||
		slices.Contains([]string{"make", "go", "helm", "docker", "kubectl", "argocd"}, words[0])
}

// makefile is a Makefile: what each target needs, as prerequisites or by a make of its own for several at a time, and
// its text.
type makefile struct {
	needs map[string][]string
	text  string
}

var (
	rule = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):([^=\n]*)$`)
	// recipe is a target with its recipe, and several a line of one that makes others at a time.
	recipe  = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):.*((?:\n\t.*)+)`)
	several = regexp.MustCompile(`\n\t@\$\(MAKE\) -j\d+ (.*)`)
	goal    = regexp.MustCompile(`^[a-z]`)
	// list is a variable with names, $(LIST) the use of one.
	list = regexp.MustCompile(`(?m)^([A-Z_]+) := (.*)$`)
)

func parse(text string) makefile {
	m := makefile{needs: map[string][]string{}, text: text}
	lists := map[string]string{}
	for _, match := range list.FindAllStringSubmatch(text, -1) {
		lists["$("+match[1]+")"] = match[2]
	}
	for _, match := range rule.FindAllStringSubmatch(text, -1) {
		needs, _, _ := strings.Cut(match[2], "##")
		all := m.needs[match[1]]
		for _, need := range strings.Fields(needs) {
			all = append(all, names(need, lists)...)
		}
		m.needs[match[1]] = all
	}
	for _, match := range recipe.FindAllStringSubmatch(text, -1) {
		for _, line := range several.FindAllStringSubmatch(match[2], -1) {
			goals := slices.DeleteFunc(strings.Fields(line[1]), func(word string) bool { return !goal.MatchString(word) })
			m.needs[match[1]] = append(m.needs[match[1]], goals...)
		}
	}
	return m
}

// names are a prerequisite, or those of a list.
func names(need string, lists map[string]string) []string {
	if all, ok := lists[need]; ok {
		return strings.Fields(all)
	}
	return []string{need}
}

// closure are targets and everything that make makes for them.
func (m makefile) closure(targets ...string) []string {
	all := slices.Clone(targets)
	for i := 0; i < len(all); i++ {
		for _, need := range m.needs[all[i]] {
			if !slices.Contains(all, need) {
				all = append(all, need)
			}
		}
	}
	return all
}

var (
	matrix = regexp.MustCompile(`(?ms)^        target:( \[[^\]]*\]|(?:\n {10}- [a-z0-9-]+)+)`)
	word   = regexp.MustCompile(`[a-z][a-z0-9-]*`)
	made   = regexp.MustCompile(`(?m)^ +(?:- )?run: (?:sudo --preserve-env=PATH )?make ([a-z][a-z0-9-]*)`)
)

// jobs are the targets that a workflow makes: by name, and those of its matrix.
func jobs(workflow string) []string {
	var all []string
	for _, match := range matrix.FindAllStringSubmatch(workflow, -1) {
		all = append(all, word.FindAllString(match[1], -1)...)
	}
	for _, match := range made.FindAllStringSubmatch(workflow, -1) {
		all = append(all, match[1])
	}
	return all
}
