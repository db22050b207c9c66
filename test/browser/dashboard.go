// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/process"
)

var printed = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=\w+`)

// startWithin is how long `stepgate dashboard` may take until it prints its address.
const startWithin = time.Minute

// Dashboard runs `stepgate dashboard` on a free port, and ends it with the test. It opens nothing, and returns the
// address that it prints.
func Dashboard(t *testing.T, binary string, flags ...string) (address string) {
	t.Helper()
	address, _ = DashboardUntil(t, binary, flags...)
	return address
}

// DashboardUntil is Dashboard, which end ends earlier. What it keeps for the next one is beside the binary.
func DashboardUntil(t *testing.T, binary string, flags ...string) (address string, end func()) {
	t.Helper()
	g := gomega.NewWithT(t)
	command := exec.CommandContext(t.Context(), binary,
		append([]string{"dashboard", "--port", "0", "--no-browser"}, flags...)...)
	out := &process.Output{}
	command.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(binary), "cache"))
	command.Stdout, command.Stderr = out, out
	g.Expect(command.Start()).To(gomega.Succeed())
	end = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	t.Cleanup(end)
	g.Eventually(out.String, startWithin).Should(gomega.MatchRegexp(printed.String()))
	return printed.FindString(out.String()), end
}
