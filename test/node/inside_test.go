// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// The addresses are of ranges for documentation and for private use. They exist in the network namespace only.
const (
	planeAddress = "192.0.2.1"
	serviceRange = "10.0.0.0/24"
	// kubernetesService is the address of the Service kubernetes, which Pods call: the first of serviceRange.
	kubernetesService = "10.0.0.1"
	podRange          = "10.244.0.0/16"
)

// kernelParameters belong to the whole machine. A kubelet sets those that have another value. It finds files in their
// place that have the value already, and changes nothing.
var kernelParameters = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// settle makes the namespaces a machine of their own, with the files of this one.
func settle(dir string) error {
	if err := syscall.Sethostname([]byte("stepgate-node")); err != nil {
		return err
	}
	if err := mounts(dir); err != nil {
		return err
	}
	return network()
}

// covered are the folders of the machine in which the programs of a node make files by themselves.
var covered = []string{"/etc", "/opt", "/usr", "/var"}

// mount is a call of mount(2).
type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

// mounts hides /run, and sends what is written to the covered folders into the temporary one.
func mounts(dir string) error {
	all := []mount{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"", "/", "", syscall.MS_REC | syscall.MS_SHARED, ""}, // among themselves
		{"proc", "/proc", "proc", 0, ""},
		{"run", "/run", "tmpfs", 0, "mode=755"},
	}
	problems := []error{os.MkdirAll(filepath.Join(dir, "kernel"), 0o755)}
	for _, folder := range covered {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		upper, work := filepath.Join(dir, "covered", folder, "upper"), filepath.Join(dir, "covered", folder, "work")
		problems = append(problems, os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755))
		all = append(all, mount{
			"stepgate-node", folder, "overlay", 0, "lowerdir=" + folder + ",upperdir=" + upper + ",workdir=" + work,
		})
	}
	for _, m := range all {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			problems = append(problems, fmt.Errorf("mount %s: %w", m.target, err))
		}
	}
	for name, value := range kernelParameters {
		path := filepath.Join(dir, "kernel", strings.ReplaceAll(name, "/", "-"))
		problems = append(problems, os.WriteFile(path, []byte(value+"\n"), 0o644))
		if err := syscall.Mount(path, filepath.Join("/proc/sys", name), "", syscall.MS_BIND, ""); err != nil {
			problems = append(problems, fmt.Errorf("mount over kernel parameter %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// network gives the nodes their addresses. Packets to anywhere else end at an interface that nobody listens to.
func network() error {
	commands := []string{
		"link set lo up",
		"link add nodes type veth peer name nobody", "link set nodes up", "link set nobody up",
	}
	for _, w := range workers() {
		commands = append(commands, "address add "+w.address+"/24 dev nodes")
	}
	for _, command := range append(commands, "route add default dev nodes") {
		if text, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", command, err, text)
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
