// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Find returns the process of a program that was started with an argument.
func Find(program, argument string) (procfs.Proc, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return procfs.Proc{}, err
	}
	for _, p := range all {
		args, err := p.CmdLine()
		if err != nil || len(args) == 0 { // it has ended
			continue
		}
		if filepath.Base(args[0]) == program && slices.Contains(args, argument) {
			return p, nil
		}
	}
	return procfs.Proc{}, fmt.Errorf("no %s runs with %s", program, argument)
}

// Showing returns the processes that have a text among their arguments or their variables, as far as this user may read
// these. Everybody may read the arguments.
func Showing(text string) (found []procfs.Proc, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		args, _ := p.CmdLine() // it may have ended
		variables, _ := p.Environ()
		if slices.ContainsFunc(slices.Concat(args, variables), func(s string) bool { return strings.Contains(s, text) }) {
			found = append(found, p)
		}
	}
	return found, nil
}

// CPUTime is the processor time that a process has used, user and system.
func CPUTime(pid int) (time.Duration, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

// ResidentMiB is the resident memory of a process.
func ResidentMiB(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return float64(stat.ResidentMemory()) / (1 << 20), err
}

// LoadAverage is the machine's load average over 1, 5 and 15 minutes.
func LoadAverage() (string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "", err
	}
	load, err := fs.LoadAvg()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.2f %.2f %.2f", load.Load1, load.Load5, load.Load15), nil
}
