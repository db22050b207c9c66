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
}

// flagsPage has every sub-command of the programs, as they say themselves.
func flagsPage() (string, error) {
	page := "# Flags\n"
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
			page += commandSection(c)
		}
	}
	return page, nil
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
