package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// tick is the unit of the times in /proc/PID/stat (USER_HZ, 100 on every Linux that Go runs on).
const tick = 10 * time.Millisecond

// selfPid is this process.
var selfPid = os.Getpid()

// pidOf finds the process of a program that was started with an argument.
func pidOf(program, argument string) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		args := bytes.Split(text, []byte{0})
		if filepath.Base(string(args[0])) != program {
			continue
		}
		for _, arg := range args {
			if string(arg) == argument {
				return strconv.Atoi(filepath.Base(filepath.Dir(file)))
			}
		}
	}
	return 0, fmt.Errorf("no %s runs with %s", program, argument)
}

// residentMiB is the resident memory of a process.
func residentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize()) / (1 << 20), err
}

// cpuTime is the processor time that a process has used, user and system.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may hold anything; utime and stime are the 14th and 15th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// machine describes where and when this ran.
func machine(began time.Time) string {
	return fmt.Sprintf("machine: %s, %s/%s, %s; began %s, took %s, load average at the end %s\ncommand: %s",
		report.Machine(), runtime.GOOS, runtime.GOARCH, runtime.Version(), began.UTC().Format(time.RFC3339),
		time.Since(began).Round(time.Second), loadAverage(), strings.Join(os.Args, " "))
}
