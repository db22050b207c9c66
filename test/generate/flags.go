// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/stepgate/stepgate/cmd/command"
)

// programs are the programs with their packages, and what a page says of each.
var programs = []struct{ name, is string }{
	{"stepgate", "The command line. `-h` shows the same on the terminal; exit codes are in [the command line](../cli.md)."},
	{"stepgate-webhook", "The program in the image. The chart sets its flags."},
	{"stepgate-reporter", "The program in the image of the reporter. The chart sets its flags."},
}

// manyCommands is how many commands have a flag that the page says once, before them.
const manyCommands = 3

// flagsPage has every sub-command of the programs, as they say themselves. Each flag is said once.
func flagsPage() (string, error) {
	sections, uses := make([][]command.Reference, len(programs)), map[command.FlagReference]int{}
	for i, program := range programs {
		cmd := exec.Command("go", "run", "./cmd/"+program.name, "reference")
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%s reference: %w", program.name, err)
		}
		if err := json.Unmarshal(text, &sections[i]); err != nil {
			return "", fmt.Errorf("%s reference: %w", program.name, err)
		}
		for _, c := range sections[i] {
			for _, f := range c.Flags {
				uses[f]++
			}
		}
	}
	said, shared := map[command.FlagReference]string{}, []command.FlagReference{}
	for _, c := range sections[0] {
		for _, f := range c.Flags {
			if uses[f] >= manyCommands && said[f] == "" {
				said[f], shared = "[most commands](#most-commands)", append(shared, f)
			}
		}
	}
	page := "# Flags\n\n## Most commands\n\n" + flagTable(shared)
	for i, program := range programs {
		page += "\n## " + program.name + "\n\n" + program.is + "\n"
		for _, c := range sections[i] {
			page += commandSection(c, said)
		}
	}
	return page, nil
}

// apart are the flags of a command that the page has not said, and a sentence for each place that has the others.
func apart(c command.Reference, said map[command.FlagReference]string) (own []command.FlagReference, others string) {
	names, places := map[string][]string{}, []string{}
	for _, f := range c.Flags {
		where := said[f]
		if where == "" {
			said[f], own = "`"+c.Path+"`", append(own, f)
			continue
		}
		if names[where] == nil {
			places = append(places, where)
		}
		names[where] = append(names[where], code("--"+f.Name))
	}
	for _, where := range places {
		others += "\nAlso, as in " + where + ": " + strings.Join(names[where], ", ") + ".\n"
	}
	return own, others
}

func commandSection(c command.Reference, said map[command.FlagReference]string) string {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	var paragraphs []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			paragraphs = append(paragraphs, "```text\n"+paragraph+"\n```")
		} else {
			paragraphs = append(paragraphs, plain(paragraph))
		}
	}
	usage := c.Use
	if c.Example != "" {
		usage += "\n\n" + c.Example
	}
	section := fmt.Sprintf("\n### %s\n\n%s\n\n```text\n%s\n```\n", c.Path, strings.Join(paragraphs, "\n\n"), usage)
	own, others := apart(c, said)
	if len(own) > 0 {
		section += "\n" + flagTable(own)
	}
	return section + others
}

func flagTable(flags []command.FlagReference) string {
	var rows [][]string
	for _, f := range flags {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Type != "" {
			name += " " + f.Type
		}
		rows = append(rows, []string{code(name), code(f.Default), plain(f.Usage)})
	}
	return table([]string{"flag", "default", "meaning"}, rows)
}
