// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/stepgate/stepgate/cmd/render"
)

// GitHub is the report as workflow commands of GitHub Actions, one in each line: annotations of the lines of a pull
// request. Notes are notices, and one more notice says what could not be checked.
func (r *Report) GitHub() []string {
	var lines []string
	for _, result := range r.ApplicationSets {
		for _, f := range result.Findings {
			lines = append(lines, command(githubLevel(f.Severity), result.File, f.Line, f.Rule,
				fmt.Sprintf("%s: %s %s (%s)", result.title(), f.Message, f.Remedy, f.Path)))
		}
	}
	for _, f := range r.Failures {
		lines = append(lines, command("error", f.File, f.Line, "not read", f.Error()))
	}
	return append(lines, command("notice", "", 0, "stepgate lint", r.Summary.String()+r.gaps()))
}

func githubLevel(s Severity) string {
	if s == Note {
		return "notice"
	}
	return s.String()
}

var (
	// As @actions/core 1.11 escapes them, src/command.ts.
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func command(level, file string, line int, title, message string) string {
	var properties []string
	if file != "" && file != render.StdinName {
		properties = append(properties, "file="+escapeProperty.Replace(file))
		if line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", line))
		}
	}
	properties = append(properties, "title="+escapeProperty.Replace(title))
	return fmt.Sprintf("::%s %s::%s", level, strings.Join(properties, ","), escapeData.Replace(message))
}
