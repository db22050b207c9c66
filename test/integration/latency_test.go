package integration

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/local"
)

// BenchmarkServe measures how long `stepgate serve` takes to answer, from a client on the same machine over TLS, for
// an Application of the last of three equal steps whose siblings are all done. It reports the resident memory of the
// process, too: right after its start, and after the run.
func BenchmarkServe(b *testing.B) {
	for _, siblings := range []int{10, 100} {
		b.Run(fmt.Sprintf("siblings=%d", siblings), func(b *testing.B) { serveLatency(b, siblings) })
	}
}

func serveLatency(b *testing.B, siblings int) {
	g := NewWithT(b)
	ctx := b.Context()
	admin, err := cluster.Client("")
	g.Expect(err).NotTo(HaveOccurred())
	name := fmt.Sprintf("stepgate-latency-%d-%d", siblings, rollouts.Add(1))
	g.Expect(cluster.CreateNamespace(ctx, name+"-apps")).To(Succeed())
	gate, err := cluster.StartGate(ctx, root, local.GateOptions{Binary: binary, Registration: local.Registration{Name: name, Namespaces: []string{"none"}}})
	g.Expect(err).NotTo(HaveOccurred())
	defer gate.Kill()
	g.Expect(gate.WaitReady(ctx)).To(Succeed())
	started := residentMiB(g, gate.Pid())

	set := guestbook.Set(name + "-apps")
	g.Expect(admin.Create(ctx, set)).To(Succeed())
	var target *argo.Application
	for i := range siblings {
		target = guestbook.Application(set, []string{"dev", "qa", "prod"}[i*3/siblings])
		target.Name = fmt.Sprintf("app-%04d", i)
		target.Status.Resources = slices.Repeat([]argo.ResourceStatus{{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "a-deployment-of-usual-name-length",
			Status: argo.SyncStatusCodeSynced, Health: &argo.HealthStatus{Status: "Healthy"},
		}}, 60)
		guestbook.Compare(target, time.Now().Truncate(time.Second), guestbook.NewCommit, argo.SyncStatusCodeSynced, "Healthy")
		g.Expect(admin.Create(ctx, target)).To(Succeed())
	}
	g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(target), target)).To(Succeed())
	post := poster(g, gate, target)

	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		post()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(started, "MiB-at-start")
	b.ReportMetric(residentMiB(g, gate.Pid()), "MiB-after")
}

// poster returns a call that sends one operation write of the target and expects it to be allowed.
func poster(g *WithT, gate *local.Gate, target *argo.Application) func() {
	before, err := json.Marshal(target)
	g.Expect(err).NotTo(HaveOccurred())
	target.Operation = guestbook.RollingSync()
	after, err := json.Marshal(target)
	g.Expect(err).NotTo(HaveOccurred())
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "latency", Namespace: target.Namespace, Name: target.Name, Operation: admissionv1.Update,
		Object: runtime.RawExtension{Raw: after}, OldObject: runtime.RawExtension{Raw: before},
	}}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	review.Request.Kind.Group, review.Request.Kind.Kind = "argoproj.io", "Application"
	body, err := json.Marshal(review)
	g.Expect(err).NotTo(HaveOccurred())
	httpClient := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return func() {
		response, err := httpClient.Post("https://"+gate.Webhook+"/validate?timeout=5s", "application/json", bytes.NewReader(body))
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(string(text)).To(ContainSubstring(`"allowed":true`))
		g.Expect(string(text)).To(ContainSubstring("EarlierStepsDone"))
	}
}

// residentMiB reads the resident memory of a process.
func residentMiB(g *WithT, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	g.Expect(err).NotTo(HaveOccurred())
	var kib float64
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "VmRSS:") {
			_, err = fmt.Sscanf(line, "VmRSS: %f kB", &kib)
		}
	}
	g.Expect(err).NotTo(HaveOccurred())
	return kib / 1024
}
