// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

// machine is the one on which somebody reads the pages: a checkout, a shell, and the programs that the pages name.
type machine struct {
	env    []string
	images string
	node   *node
	// image is the published one.
	image string
	// texts replaces what cannot be had here: the published chart, and the words that the reader has to fill in.
	texts *strings.Replacer
}

// commandTimeout ends a command that hangs.
const commandTimeout = 5 * time.Minute

// newMachine publishes the chart in a registry on this machine, and starts a node at which stepgate serves at an
// address.
func newMachine(t *testing.T, webhook string) *machine {
	t.Helper()
	g := NewWithT(t)
	kubeconfig, err := shared.AdminKubeconfig()
	g.Expect(err).NotTo(HaveOccurred())
	published := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(published.Close)
	dir := t.TempDir()
	m := &machine{images: filepath.Join(dir, "images"), texts: strings.NewReplacer()}
	programs := filepath.Join(shared.Root, "test", "pages", "testdata", "programs")
	m.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir,
		"HELM_DATA_HOME="+dir,
		"PATH="+programs+":"+filepath.Dir(shared.Binary)+":"+filepath.Join(shared.Root, "bin")+":"+os.Getenv("PATH"),
		"REPOSITORY="+shared.Root, "WEBHOOK="+webhook, "IMAGES="+m.images)
	version := strings.TrimSpace(m.run(t, "helm show chart ./charts/stepgate | sed -n 's/^version: //p'"))
	charts := "oci://" + strings.TrimPrefix(published.URL, "http://") + "/stepgate/charts"
	m.run(t, "helm package ./charts/stepgate --destination "+dir)
	m.run(t, "helm push "+filepath.Join(dir, "stepgate-"+version+".tgz")+" "+charts+" --plain-http")
	m.image = "ghcr.io/stepgate/stepgate:v" + version
	m.texts = strings.NewReplacer("oci://ghcr.io/stepgate/charts/stepgate", charts+"/stepgate --plain-http",
		"X.Y.Z", version, "REGISTRY", "registry.example.com", " CHART ", " ./charts/stepgate ", " NAME ", " guestbook ",
		"--timeout 30m", "--timeout 1s", "> audit.html", "> "+filepath.Join(dir, "audit.html"),
		"> rollouts.csv", "> "+filepath.Join(dir, "rollouts.csv"))
	m.unload(t)
	m.node = startNode(t, webhook, m.images)
	return m
}

// unload removes all images from the node, and from the machine.
func (m *machine) unload(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(os.RemoveAll(m.images)).To(Succeed())
	g.Expect(os.Mkdir(m.images, 0o700)).To(Succeed())
}

// run runs a command of a page in a shell, in the checkout, and returns its output.
func (m *machine) run(t *testing.T, command string) string {
	t.Helper()
	if strings.Contains(command, "oci://ghcr.io/stepgate/") {
		// Where the chart is published, the image is.
		NewWithT(t).Expect(os.WriteFile(filepath.Join(m.images, "published"), []byte(m.image), 0o600)).To(Succeed())
	}
	command = m.texts.Replace(command)
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	shell := m.shell(ctx, command)
	text, err := shell.CombinedOutput()
	t.Logf("$ %s\n%s", command, text)
	if ctx.Err() != nil {
		t.Fatalf("%s: it has not ended within %s; is it one that serves?", command, commandTimeout)
	}
	// Where `stepgate` answers a question, 1 is an answer.
	if err != nil && (shell.ProcessState.ExitCode() != 1 || !strings.HasPrefix(command, "stepgate ")) {
		t.Fatal(err)
	}
	return string(text)
}

// serve runs a command that serves, until its output has a text, and ends it as Ctrl-C does. It returns the output.
func (m *machine) serve(t *testing.T, command, shows string) string {
	t.Helper()
	g := NewWithT(t)
	shell := m.shell(t.Context(), "exec "+m.texts.Replace(command))
	output := gbytes.NewBuffer()
	shell.Stdout, shell.Stderr = output, output
	g.Expect(shell.Start()).To(Succeed())
	defer func() { _ = shell.Process.Kill() }() // if it has not ended
	g.Eventually(output).Should(gbytes.Say(regexp.QuoteMeta(shows)))
	g.Expect(shell.Process.Signal(os.Interrupt)).To(Succeed())
	err := shell.Wait()
	t.Logf("$ %s\n%s", command, output.Contents())
	g.Expect(err).NotTo(HaveOccurred())
	return string(output.Contents())
}

// shell runs a command in the checkout.
func (m *machine) shell(ctx context.Context, command string) *exec.Cmd {
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	shell.Dir, shell.Env = shared.Root, m.env
	return shell
}
