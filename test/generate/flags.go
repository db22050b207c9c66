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

// flagsPage has every sub-command of the programs, as they say themselves.
func flagsPage() (string, error) {
	page, known := "# Flags\n", map[command.FlagReference]bool{}
	for _, program := range programs {
		cmd := exec.Command("go", "run", "./cmd/"+program.name, "reference")
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%s reference: %w", program.name, err)
		}
		var commands []command.Reference
		if err := json.Unmarshal(text, &commands); err != nil {
			return "", fmt.Errorf("%s reference: %w", program.name, err)
		}
		page += "\n## " + program.name + "\n\n" + program.is + "\n"
		for _, c := range commands {
			shared := takeShared(&c, known)
			page += commandSection(c)
			if len(shared) > 0 {
				page += "\nThe others are those of `stepgate-webhook serve`, with the same values: " + strings.Join(shared, ", ") + ".\n"
			}
		}
	}
	return page, nil
}

// takeShared takes the flags out of `serve` that another program's has as well, and returns their names: known are those
// that the page has.
func takeShared(c *command.Reference, known map[command.FlagReference]bool) (shared []string) {
	if !strings.HasSuffix(c.Path, " serve") {
		return nil
	}
	var own []command.FlagReference
	for _, f := range c.Flags {
		if known[f] {
			shared = append(shared, code("--"+f.Name))
			continue
		}
		known[f] = true
		own = append(own, f)
	}
	c.Flags = own
	return shared
}

func commandSection(c command.Reference) string {
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
	var rows [][]string
	for _, f := range c.Flags {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Type != "" {
			name += " " + f.Type
		}
		rows = append(rows, []string{code(name), code(f.Default), plain(f.Usage)})
	}
	if len(rows) > 0 {
		section += "\n" + table([]string{"flag", "default", "meaning"}, rows)
	}
	return section
}
