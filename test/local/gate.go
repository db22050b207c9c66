package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Gate is a running `stepgate serve`.
type Gate struct {
	// Name is that of its Registration.
	Name string
	// Webhook, Metrics and Probe are its addresses, HOST:PORT.
	Webhook, Metrics, Probe string

	command *exec.Cmd
	output  output
	exited  chan struct{}
}

// GateOptions are how a Gate is installed and started.
type GateOptions struct {
	// Binary is the program; Build makes one.
	Binary string
	Registration
	// APIServer replaces the API server's address in its kubeconfig, for a proxy in between.
	APIServer string
	// CertArgs are the flags of the serving certificate; nil means --cert-mode self.
	CertArgs []string
	// Args are added to the flags that it needs to run here.
	Args []string
}

// Build compiles stepgate into dir.
func Build(root, dir string) (string, error) {
	binary := filepath.Join(dir, "stepgate")
	build := exec.Command("go", "build", "-o", binary, "./cmd/stepgate")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build stepgate: %w: %s", err, text)
	}
	return binary, nil
}

// StartGate installs an instance of stepgate from config/, and starts it under its own service account and RBAC. It
// returns when the instance answers its probes; WaitReady waits until it is ready.
func (c *Cluster) StartGate(ctx context.Context, root string, o GateOptions) (*Gate, error) {
	g, err := newGate(o.Name)
	if err != nil {
		return nil, err
	}
	o.URL = "https://" + g.Webhook + "/validate"
	if err := c.Install(ctx, root, o.Registration); err != nil {
		return nil, err
	}
	return g, c.run(ctx, g, o)
}

func (g *Gate) chooseAddresses() error {
	for _, address := range []*string{&g.Webhook, &g.Metrics, &g.Probe} {
		free, err := freeAddress()
		if err != nil {
			return err
		}
		*address = free
	}
	return nil
}

func (g *Gate) start(ctx context.Context) error {
	g.command.Stdout, g.command.Stderr = &g.output, &g.output
	if err := g.command.Start(); err != nil {
		return err
	}
	go func() {
		_ = g.command.Wait()
		close(g.exited)
	}()
	return g.wait(ctx, func() error {
		_, err := get(ctx, "http://"+g.Probe+"/healthz")
		return err
	})
}

// WaitReady waits until it is ready.
func (g *Gate) WaitReady(ctx context.Context) error {
	return g.wait(ctx, func() error { return g.Ready(ctx) })
}

// wait polls until a check has no problem any more; it gives up when the process ends.
func (g *Gate) wait(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-g.exited:
			cancel(errors.New("it has ended"))
		case <-ctx.Done():
		}
	}()
	if err := Poll(ctx, check); err != nil {
		return fmt.Errorf("stepgate is not ready: %w: %s", err, g.Log())
	}
	return nil
}

// Ready returns what /readyz says, as an error unless it is ready.
func (g *Gate) Ready(ctx context.Context) error {
	_, err := get(ctx, "http://"+g.Probe+"/readyz")
	return err
}

// ResidentMiB is the resident memory of its process.
func (g *Gate) ResidentMiB() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "VmRSS:") {
			var kib float64
			_, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", g.command.Process.Pid)
}

// Terminate sends SIGTERM and does not wait.
func (g *Gate) Terminate() error { return g.command.Process.Signal(syscall.SIGTERM) }

// Wait waits for its end and returns the exit code.
func (g *Gate) Wait() int {
	<-g.exited
	return g.command.ProcessState.ExitCode()
}

// Kill ends it at once. It may have ended already.
func (g *Gate) Kill() {
	_ = g.command.Process.Kill()
	<-g.exited
}

// Log is what it has logged.
func (g *Gate) Log() string { return g.output.String() }

// Metric is the function Metric on its metrics.
func (g *Gate) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	return Metric(ctx, "http://"+g.Metrics+"/metrics", name, labels...)
}

// Metric reads metrics at a URL and sums the samples of a counter or gauge (for a histogram: its counts) over the series
// that carry the labels, which are given as name, value, name, value.
func Metric(ctx context.Context, url, name string, labels ...string) (float64, error) {
	text, err := get(ctx, url)
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, m := range families[name].GetMetric() {
		if carries(m, labels) {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum, nil
}

// MetricsText is the whole of /metrics.
func (g *Gate) MetricsText(ctx context.Context) (string, error) {
	return get(ctx, "http://"+g.Metrics+"/metrics")
}

func carries(m *dto.Metric, labels []string) bool {
	have := map[string]string{}
	for _, pair := range m.GetLabel() {
		have[pair.GetName()] = pair.GetValue()
	}
	for i := 0; i+1 < len(labels); i += 2 {
		if have[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}

func get(ctx context.Context, url string) (text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that was written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
