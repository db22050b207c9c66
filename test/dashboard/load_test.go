// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// asked counts requests to the API server.
type asked struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *asked) count(_ string, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	a.mu.Lock()
	path := strings.Split(r.URL.Path, "/")
	a.counts[r.Method+" "+strings.Join(path[3:], "/")]++
	a.mu.Unlock()
	next.ServeHTTP(rw, r)
}

func (a *asked) take() (all map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, a.counts = a.counts, map[string]int{}
	return all
}

// tabs ask as the page does, and count what goes over their connections.
type tabs struct {
	client *http.Client
	bytes  atomic.Int64
	// events are the answers with something new, and largest is the largest body of one.
	events, largest atomic.Int64
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

func newTabs(t *testing.T, address string) *tabs {
	t.Helper()
	g := NewWithT(t)
	tt := &tabs{}
	jar, err := cookiejar.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	tt.client = &http.Client{Jar: jar, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return countedConn{conn, &tt.bytes}, err
		}, MaxIdleConnsPerHost: 100, DisableCompression: true,
	}}
	base, token, _ := strings.Cut(address, "#token=")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"api/session", nil)
	g.Expect(err).NotTo(HaveOccurred())
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := tt.client.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	_ = response.Body.Close()
	g.Expect(response.StatusCode).To(Equal(http.StatusNoContent))
	return tt
}

// look is one tab, until ctx is done.
func (tt *tabs) look(ctx context.Context, url string) error {
	tag := ""
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Stepgate-Page", "1")
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("If-None-Match", tag)
		response, err := tt.client.Do(r)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		switch {
		case err != nil:
			return err
		case response.StatusCode == http.StatusOK:
			tag = response.Header.Get("ETag")
			tt.events.Add(1)
			for most := tt.largest.Load(); n > most && !tt.largest.CompareAndSwap(most, n); most = tt.largest.Load() {
			}
		case response.StatusCode != http.StatusNotModified:
			return fmt.Errorf("%s: %s", url, response.Status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// watched is how long the load is measured.
const watched = 10 * time.Second

// TestTheLoadOfTabs with 1,000 Applications, of which five a second change: what goes to each tab, and that ten tabs ask
// the API server no more than one does.
func TestTheLoadOfTabs(t *testing.T) {
	g := NewWithT(t)
	const namespace, n = "load", 1000
	made := manyApplications(n)
	for _, app := range made.Apps[1:] {
		app.Status.Sync.Status = "OutOfSync" // they wait for evidence, or for the step before
	}
	made.Sets[0].Annotations = map[string]string{settings.VerifyAnnotation: "2=jobs.batch/smoke"}
	write(t, namespace, made)
	user := "system:serviceaccount:" + namespace + ":viewer"
	installedWith(t, namespace, user, "--verify-kinds=jobs.v1.batch")
	address, requests := dashboardOfAccount(t, namespace, "viewer")
	g.Eventually(func() int { return requests.take()["GET v1/namespaces/"+namespace+"/jobs"] }).Should(BeZero())

	measure := func(views ...string) (map[string]int, *tabs) {
		tt := newTabs(t, address)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var group sync.WaitGroup
		base, _, _ := strings.Cut(address, "#")
		for _, view := range views {
			group.Go(func() { _ = tt.look(ctx, base+"api/"+view) })
		}
		g.Eventually(tt.events.Load).Should(BeNumerically(">=", len(views)))
		requests.take()
		changes := time.NewTicker(200 * time.Millisecond)
		defer changes.Stop()
		for ended := time.Now().Add(watched); time.Now().Before(ended); <-changes.C {
			name := made.Apps[1+int(time.Now().UnixMilli()/200)%(n-1)].Name
			edit(t, namespace, name, func(app *argo.Application) {
				app.Status.ReconciledAt = &metav1.Time{Time: time.Now()}
				app.Status.Health.Status = []health.HealthStatusCode{"Degraded", "Progressing"}[time.Now().Second()%2]
			})
		}
		end()
		group.Wait()
		return requests.take(), tt
	}
	rollout, overview := "rollouts/"+namespace+"/guestbook", "overview"
	one, alone := measure(rollout)
	ten, many := measure(append(slices.Repeat([]string{rollout}, 5), slices.Repeat([]string{overview}, 5)...)...)
	perTab := float64(alone.bytes.Load()) * (5 * time.Minute).Seconds() / watched.Seconds() / 1e6
	t.Logf("largest event: %.1f KB; one tab in five minutes: %.1f MB; %d events in %s", float64(alone.largest.Load())/1e3,
		perTab, alone.events.Load(), watched)
	t.Logf("API requests in %s of one tab: %v", watched, one)
	t.Logf("API requests in %s of ten tabs: %v (%d events)", watched, ten, many.events.Load())
	g.Expect(alone.events.Load()).To(BeNumerically(">=", 3), "it follows")
	g.Expect(alone.largest.Load()).To(BeNumerically("<=", 30_000))
	g.Expect(perTab).To(BeNumerically("<=", 20))
	sum := func(all map[string]int) (n int) {
		for of := range maps.Values(all) {
			n += of
		}
		return n
	}
	g.Expect(one).To(HaveKey(ContainSubstring("/jobs")))
	g.Expect(sum(ten)).To(BeNumerically("<=", sum(one)+6), "what is asked from time to time may be asked once more")
}

// manyApplications are n in three steps, with names of every character that Kubernetes permits.
func manyApplications(n int) *scenario.Cluster {
	texts := []string{"1:dev=Healthy@b"}
	for i := range n - 1 {
		texts = append(texts, fmt.Sprintf("%d:a-0.z%s-%04d=%s@b", 2+i%2, strings.Repeat("x", i%60), i,
			[]string{"Healthy", "Progressing", "Degraded"}[i%3]))
	}
	return nowIs(scenario.Of(strings.Join(texts, " ")), time.Now())
}

// dashboardOfAccount runs a dashboard as a service account that may do everything, and counts what it asks.
func dashboardOfAccount(t *testing.T, namespace, account string) (address string, requests *asked) {
	t.Helper()
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: account}
	g.Expect(shared.Admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta})).To(Succeed())
	g.Expect(shared.Admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})).To(Succeed())
	proxy, err := faultproxy.NewAPIProxy(shared.Cluster)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(proxy.Close)
	requests = &asked{counts: map[string]int{}}
	proxy.Set(requests.count)
	kubeconfig, err := shared.Kubeconfig(t.Context(), namespace, account, proxy.URL())
	g.Expect(err).NotTo(HaveOccurred())
	return browser.Dashboard(t, shared.Binary, "--kubeconfig", kubeconfig, "-n", namespace), requests
}
