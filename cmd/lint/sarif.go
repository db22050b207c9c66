// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/cmd/screen"
)

// The parts of SARIF 2.1.0 that lint writes (OASIS sarif-schema-2.1.0.json).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		FullDescription      sarifText          `json:"fullDescription"`
		Help                 sarifText          `json:"help"`
		HelpURI              string             `json:"helpUri"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// SARIF is the report as a SARIF 2.1.0 log, for GitHub code scanning and the like. version is the version of stepgate.
func (r *Report) SARIF(version string) ([]byte, error) {
	driver := sarifDriver{Name: "stepgate lint", Version: version, InformationURI: "https://github.com/stepgate/stepgate"}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: rule.ID, ShortDescription: sarifText{rule.Short}, FullDescription: sarifText{rule.Help},
			Help:                 sarifText{rule.Help + " Do: " + rule.Remedy},
			HelpURI:              screen.Page("docs/reference/lint-rules.md#" + rule.ID),
			DefaultConfiguration: sarifConfiguration{rule.Severity.String()},
		})
	}
	run := sarifRun{Tool: sarifTool{driver}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	invocation := sarifInvocation{ExecutionSuccessful: len(r.Failures) == 0}
	for _, result := range r.ApplicationSets {
		for _, f := range result.Findings {
			run.Results = append(run.Results, sarifResult{
				RuleID: f.Rule, RuleIndex: index[f.Rule], Level: f.Severity.String(),
				Message:             sarifText{f.Message + " " + f.Remedy},
				Locations:           []sarifLocation{result.location(f)},
				PartialFingerprints: map[string]string{"stepgate/v1": result.fingerprint(f)},
			})
		}
		for _, gap := range result.NotChecked {
			invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{
				Level: "note", Message: sarifText{
					result.title() + ": not checked: " + gap.Message,
				}, Locations: []sarifLocation{result.location(Finding{})},
			})
		}
	}
	for _, f := range r.Failures {
		invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{
			Level: "error", Message: sarifText{f.Error()}, Locations: []sarifLocation{
				{PhysicalLocation: physical(f.File, f.Line, 0)},
			},
		})
	}
	run.Invocations = []sarifInvocation{invocation}
	return json.MarshalIndent(sarifLog{
		"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run},
	}, "", "  ")
}

// location is the part of the file, and of the object. A live object has no file.
func (r Result) location(f Finding) sarifLocation {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	if f.Path != "" {
		name += "." + f.Path
	}
	return sarifLocation{PhysicalLocation: physical(r.File, f.Line, f.Column), LogicalLocations: []sarifLogical{{name}}}
}

func physical(file string, line, column int) *sarifPhysical {
	if file == "" || file == render.StdinName {
		return nil
	}
	uri := url.URL{Path: file}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
	}
	p := &sarifPhysical{ArtifactLocation: sarifArtifact{uri.String()}}
	if line > 0 {
		p.Region = &sarifRegion{line, column}
	}
	return p
}

// fingerprint stays the same when lines move.
func (r Result) fingerprint(f Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, r.Namespace, r.Name, f.Path, f.Message}, "\n")))
	return hex.EncodeToString(sum[:16])
}
