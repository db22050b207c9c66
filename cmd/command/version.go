// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// version and commit are set by the linker (make build); they are never assigned.
var version, commit string

// NewVersion is the sub-command that prints what was built.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  NoArgs, Example: "  stepgate version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), ThisBuild())
			return err
		},
	}
}

// Built says what was built.
type Built struct{ Version, Commit, GoVersion string }

// ThisBuild is the running program.
func ThisBuild() Built {
	info, _ := debug.ReadBuildInfo()
	return buildOf(version, commit, info)
}

// buildOf takes from what the Go command recorded what the linker was not told.
func buildOf(version, commit string, info *debug.BuildInfo) Built {
	if info != nil {
		version = cmp.Or(version, info.Main.Version)
		recorded := map[string]string{}
		for _, s := range info.Settings {
			recorded[s.Key] = s.Value
		}
		if revision := recorded["vcs.revision"]; commit == "" && revision != "" {
			commit = revision
			if recorded["vcs.modified"] == "true" {
				commit += "-dirty"
			}
		}
	}
	return Built{Version: cmp.Or(version, "(devel)"), Commit: cmp.Or(commit, "unknown"), GoVersion: runtime.Version()}
}

func (b Built) String() string {
	return fmt.Sprintf("stepgate %s, commit %s, %s %s/%s", b.Version, b.Commit, b.GoVersion, runtime.GOOS, runtime.GOARCH)
}

// Metric is a metric that is always 1; its labels say what runs. name tells the programs apart.
func (b Built) Metric(name string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "stepgate", Name: name, Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.GoVersion},
	})
	info.Set(1)
	return info
}
