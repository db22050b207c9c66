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
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText(version, commit, info))
			return err
		},
	}
}

// versionText says what was built. What the linker was not told is taken from what the Go command recorded.
func versionText(version, commit string, info *debug.BuildInfo) string {
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
	return fmt.Sprintf("stepgate %s, commit %s, %s %s/%s",
		cmp.Or(version, "(devel)"), cmp.Or(commit, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
