// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stepgate/stepgate/test/process"
)

// start starts a program of bin/. It ends with the namespaces.
func (m *machine) start(name, as string, args ...string) (*process.Process, error) {
	command := exec.Command(filepath.Join(m.bin, name), args...)
	command.Dir = m.dir
	return process.Start(as, command, filepath.Join(m.dir, "logs", as+".log"), (*exec.Cmd).Start)
}

// tool runs a program of bin/ to its end, as the cluster's administrator, and returns its output.
func (m *machine) tool(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(m.bin, name), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+m.kubeconfig)
	text, err := command.CombinedOutput()
	if err != nil {
		return string(text), fmt.Errorf("%s %v: %w: %s", name, args, err, text)
	}
	return string(text), nil
}
