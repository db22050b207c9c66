package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker (make build); they are never assigned.
var version, commit string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
}

// built says what was built.
type built struct{ version, commit, goVersion string }

// thisBuild is the running program.
func thisBuild() built {
	info, _ := debug.ReadBuildInfo()
	return buildOf(version, commit, info)
}

// buildOf takes from what the Go command recorded what the linker was not told.
func buildOf(version, commit string, info *debug.BuildInfo) built {
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
	return built{version: cmp.Or(version, "(devel)"), commit: cmp.Or(commit, "unknown"), goVersion: runtime.Version()}
}

func (b built) String() string {
	return fmt.Sprintf("stepgate %s, commit %s, %s %s/%s", b.version, b.commit, b.goVersion, runtime.GOOS, runtime.GOARCH)
}
