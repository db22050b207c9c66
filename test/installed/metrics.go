// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
)

// Metric is the function Metric on its metrics.
func (r *Replica) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	return Metric(ctx, "http://"+r.Metrics+"/metrics", name, labels...)
}

// Metric reads metrics at a URL and sums the samples of a counter or gauge (for a histogram: its counts) over the
// series that carry the labels, which are given as name, value, name, value.
func Metric(ctx context.Context, url, name string, labels ...string) (float64, error) {
	return sum(ctx, url, name, labels, func(m *dto.Metric) float64 {
		return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	})
}

// Total sums what the histograms of this name have counted, in their unit.
func (r *Replica) Total(ctx context.Context, name string, labels ...string) (float64, error) {
	return sum(ctx, "http://"+r.Metrics+"/metrics", name, labels, func(m *dto.Metric) float64 {
		return m.GetHistogram().GetSampleSum()
	})
}

func sum(ctx context.Context, url, name string, labels []string, value func(*dto.Metric) float64) (float64, error) {
	text, err := Get(ctx, url)
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
			sum += value(m)
		}
	}
	return sum, nil
}

// MetricsText is the whole of /metrics.
func (r *Replica) MetricsText(ctx context.Context) (string, error) {
	return Get(ctx, "http://"+r.Metrics+"/metrics")
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

// Get reads a text, such as a metric or a profile.
func Get(ctx context.Context, url string) (text string, err error) {
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

// ResidentMiB is the resident memory of its process.
func (r *Replica) ResidentMiB() (float64, error) {
	return r.mib(func(s procfs.ProcStatus) uint64 { return s.VmRSS })
}

// AnonymousMiB is the anonymous memory of its process.
func (r *Replica) AnonymousMiB() (float64, error) {
	return r.mib(func(s procfs.ProcStatus) uint64 { return s.RssAnon })
}

// PeakMiB is the largest resident memory that its process has had.
func (r *Replica) PeakMiB() (float64, error) {
	return r.mib(func(s procfs.ProcStatus) uint64 { return s.VmHWM })
}

// ForgetPeak lets PeakMiB begin anew.
func (r *Replica) ForgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", r.Pid()), []byte("5"), 0)
}

// Pid is its process.
func (r *Replica) Pid() int { return r.command.Process.Pid }

// mib is one of the sizes of its process. A process that has ended has none.
func (r *Replica) mib(size func(procfs.ProcStatus) uint64) (float64, error) {
	p, err := procfs.NewProc(r.Pid())
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return 0, err
	}
	bytes := size(status)
	if bytes == 0 {
		return 0, fmt.Errorf("process %d has ended", r.Pid())
	}
	return float64(bytes) / (1 << 20), nil
}

// OpenFiles is how many files and connections its process has open.
func (r *Replica) OpenFiles() (int, error) {
	p, err := procfs.NewProc(r.Pid())
	if err != nil {
		return 0, err
	}
	return p.FileDescriptorsLen()
}
