// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// namespaces are those in which everything runs.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// isolate runs this program again, in namespaces of its own, and removes what it leaves behind. When the process ends,
// or this one, the kernel ends everything that runs in the namespaces.
func isolate(ctx context.Context, keep string, page *report.Page) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("it has to run as root: it makes namespaces, cgroups, mounts and containers")
	}
	dir, err := os.MkdirTemp("", "stepgate-node-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, folder := range append(covered, "/run") {
		if strings.HasPrefix(dir, folder+"/") {
			return fmt.Errorf("the temporary folder is %s; set TMPDIR to a folder outside %s", dir, folder)
		}
	}
	group := filepath.Base(dir)
	defer func() { err = errors.Join(err, removeGroups(group)) }()

	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command := exec.CommandContext(ctx, "/proc/self/exe", inside, dir)
	var said bytes.Buffer
	command.Stdout, command.Stderr = os.Stdout, &said
	if page.Kept() {
		command.Stdout = page // a pipe: without colours
	}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	err = command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = errors.New(cmp.Or(strings.TrimSpace(said.String()), "not passed"))
	}
	if keep != "" {
		err = errors.Join(err, copyLogs(dir, keep))
	}
	return err
}

// copyLogs copies the logs of all programs to a folder.
func copyLogs(dir, keep string) error {
	if err := os.MkdirAll(keep, 0o755); err != nil {
		return err
	}
	var logs []string
	for _, pattern := range []string{"logs/*", "tmp/*/argocd/*.log", "tmp/*/audit.log"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		logs = append(logs, found...)
	}
	var problems error
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(keep, filepath.Base(path)), text, 0o644)
		}
		problems = errors.Join(problems, err)
	}
	return problems
}
