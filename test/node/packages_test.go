// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// packages.sh ends `make e2e-node` before anything is built, and says why.
func TestPackages(t *testing.T) {
	for name, tc := range map[string]struct {
		// programs are the scripts that it finds in place of those of the machine.
		programs map[string]string
		want     string
	}{
		"somebody is not root": {
			programs: map[string]string{"id": "echo 1000", "uname": "echo Linux"},
			want:     "e2e-node: it has to run as root: it makes namespaces, cgroups, mounts and containers. Try: sudo --preserve-env=PATH make e2e-node\n",
		},
		"another system": {
			programs: map[string]string{"id": "echo 0", "uname": "echo Darwin"},
			want:     "e2e-node: it runs on Linux only\n",
		},
		"a package is missing, and there is no apt-get": {
			programs: map[string]string{"id": "echo 0", "uname": "echo Linux", "runc": "", "nft": ""},
			want:     "e2e-node: missing: containernetworking-plugins iproute2 (names of Debian's packages). Install them; the CNI plugins have to be in /usr/lib/cni\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, folder := NewWithT(t), t.TempDir()
			for program, text := range tc.programs {
				g.Expect(os.WriteFile(filepath.Join(folder, program), []byte("#!/bin/bash\n"+text+"\n"), 0o700)).To(Succeed())
			}
			command := exec.CommandContext(t.Context(), "/bin/bash", "packages.sh")
			command.Env = []string{"PATH=" + folder, "CNI=" + folder}
			text, err := command.CombinedOutput()
			g.Expect(err).To(HaveOccurred())
			g.Expect(string(text)).To(Equal(tc.want))
		})
	}
}
