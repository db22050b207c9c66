// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// Machine is the processor, the number of cores and the memory of this machine.
func Machine() string {
	model, memory := "unknown processor", "unknown memory"
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if processors, err := fs.CPUInfo(); err == nil && len(processors) > 0 {
			model = cmp.Or(processors[0].ModelName, model)
		}
		if info, err := fs.Meminfo(); err == nil && info.MemTotalBytes != nil {
			memory = fmt.Sprintf("%.1f GiB", float64(*info.MemTotalBytes)/(1<<30))
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", model, runtime.NumCPU(), memory)
}

// describe is the version of the checkout, as of `git describe --tags --always --dirty`, and its commit. Changes in the
// folder of the results do not make it dirty: the suite before this one has written its page there.
func describe(root, folder string) (version, commit string) {
	version, err := gitIn(root, "describe", "--tags", "--always")
	if err != nil {
		return "unknown", "unknown"
	}
	commit, _ = gitIn(root, "rev-parse", "HEAD")
	compare := []string{"diff", "--quiet", "HEAD", "--", "."}
	if within, err := filepath.Rel(root, folder); err == nil && filepath.IsLocal(within) {
		compare = append(compare, ":(exclude)"+filepath.ToSlash(within))
	}
	if _, err := gitIn(root, compare...); err != nil {
		version += "-dirty"
	}
	return version, commit
}

// gitIn runs git. The checkout may belong to the user who called sudo.
func gitIn(root string, args ...string) (string, error) {
	text, err := exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", root}, args...)...).Output()
	return strings.TrimSpace(string(text)), err
}

// command is the command line of this process, as somebody would type it at the root of the checkout: go test and go
// run start programs of their own.
func command(root string, args []string) string {
	program, own := args[0], quoted(args[1:])
	of := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		of = "./" + strings.TrimPrefix(strings.TrimSuffix(info.Path, ".test"), info.Main.Path+"/")
	}
	switch {
	case strings.HasSuffix(program, ".test"):
		return strings.Join(append([]string{"go", "test", of}, goTest(own)...), " ")
	case strings.Contains(program, "go-build"):
		return strings.Join(append([]string{"go", "run", of}, own...), " ")
	}
	if path, err := filepath.Abs(program); err == nil {
		if within, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(within) {
			program = within
		}
	}
	return strings.Join(append([]string{program}, own...), " ")
}

// goTest are the arguments of go test for those of the program that it starts. It adds some by itself.
func goTest(args []string) []string {
	added := regexp.MustCompile(`^-test\.(paniconexit0|testlogfile=)`)
	args = slices.DeleteFunc(args, added.MatchString)
	for i := range args {
		args[i] = strings.Replace(args[i], "-test.", "-", 1)
	}
	return args
}

var word = regexp.MustCompile(`^[\w./,:=@%+-]+$`)

// quoted are arguments as a shell takes them.
func quoted(args []string) []string {
	all := slices.Clone(args)
	for i, arg := range all {
		if !word.MatchString(arg) {
			all[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return all
}
