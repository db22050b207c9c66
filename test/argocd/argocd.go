package argocd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/stepgate/stepgate/test/cluster"
)

// ArgoCD is a running Argo CD.
type ArgoCD struct {
	cluster *cluster.Cluster
	options Options
	binary  string
	dir     string

	redis      *miniredis.Miniredis
	aged       chan struct{}
	repoServer string
	setMetrics string
	processes  []*process
	kubelet    *kubelet
}

// Options are how an Argo CD is started.
type Options struct {
	// Root is the root of the repository; the binary is bin/argocd (make argocd-tools).
	Root string
	// Namespaces hold ApplicationSets and Applications, besides the namespace argocd.
	Namespaces []string
	// Resync is timeout.reconciliation; with a long one, nothing but refreshes makes Argo CD look at git.
	Resync time.Duration
	// Jitter is timeout.reconciliation.jitter.
	Jitter time.Duration
}

// Start starts Argo CD in the cluster and returns when all its parts answer.
func Start(ctx context.Context, cluster *cluster.Cluster, o Options) (*ArgoCD, error) {
	a := &ArgoCD{cluster: cluster, options: o, binary: filepath.Join(o.Root, "bin", "argocd"), dir: filepath.Join(cluster.Dir(), "argocd")}
	if _, err := os.Stat(a.binary); err != nil {
		return nil, fmt.Errorf("no Argo CD: run `make argocd-tools`: %w", err)
	}
	for _, dir := range []string{"bin", "tls", "ssh", "gpg", "gpghome", "plugins", "tmp", "home"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := a.copyWrapper(); err != nil {
		return nil, err
	}
	if err := a.install(ctx); err != nil {
		return nil, err
	}
	if err := a.start(ctx); err != nil {
		a.Stop()
		return nil, err
	}
	return a, nil
}

// Restart ends all processes and starts them again with another interval, on the same objects.
func (a *ArgoCD) Restart(ctx context.Context, resync, jitter time.Duration) error {
	a.stopProcesses()
	a.options.Resync, a.options.Jitter = resync, jitter
	return a.start(ctx)
}

// Stop ends all processes. What they have logged stays until the Cluster is stopped.
func (a *ArgoCD) Stop() {
	if a.kubelet != nil {
		a.kubelet.stop()
	}
	a.stopProcesses()
}

func (a *ArgoCD) stopProcesses() {
	for i := len(a.processes) - 1; i >= 0; i-- {
		a.processes[i].stop()
	}
	a.processes = nil
	if a.redis != nil {
		close(a.aged)
		a.redis.Close()
		a.redis = nil
	}
}

// ApplicationSetMetrics is the URL of the ApplicationSet controller's metrics.
func (a *ArgoCD) ApplicationSetMetrics() string { return a.setMetrics }

// Log is the file that a component writes its log to, such as "argocd-applicationset-controller".
func (a *ArgoCD) Log(component string) string { return filepath.Join(a.dir, component+".log") }

func (a *ArgoCD) start(ctx context.Context) error {
	if err := a.startRedis(); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{a.startRepoServer, a.startApplicationController, a.startApplicationSetController} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startRedis starts a Redis whose keys expire as time goes by; on its own, this one lets them stay.
func (a *ArgoCD) startRedis() error {
	redis, aged := miniredis.NewMiniRedis(), make(chan struct{})
	if err := redis.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	a.redis, a.aged = redis, aged
	go func() {
		const step = 250 * time.Millisecond
		ticker := time.NewTicker(step)
		defer ticker.Stop()
		for {
			select {
			case <-aged:
				return
			case <-ticker.C:
				redis.FastForward(step)
			}
		}
	}()
	return nil
}

// environment keeps everything that Argo CD writes, and git's configuration, inside its folder.
func (a *ArgoCD) environment() []string {
	in := func(name string) string { return filepath.Join(a.dir, name) }
	return []string{
		"PATH=" + in("bin") + ":" + os.Getenv("PATH"), "HOME=" + in("home"), "TMPDIR=" + in("tmp"),
		"ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_TLS_DATA_PATH=" + in("tls"), "ARGOCD_SSH_DATA_PATH=" + in("ssh"),
		"ARGOCD_GPG_DATA_PATH=" + in("gpg"), "ARGOCD_GNUPGHOME=" + in("gpghome"), "ARGOCD_GPG_ENABLED=false",
		"ARGOCD_PLUGINSOCKFILEPATH=" + in("plugins"), "ARGOCD_RECONCILIATION_TIMEOUT=" + a.options.Resync.String(),
		"ARGOCD_RECONCILIATION_JITTER=" + a.options.Jitter.String(),
	}
}

// copyWrapper puts the script that the repo-server calls for every commit on its PATH.
func (a *ArgoCD) copyWrapper() error {
	manifests, err := cluster.ArgoManifests(a.options.Root)
	if err != nil {
		return err
	}
	const name = "git-verify-wrapper.sh"
	script, err := os.ReadFile(filepath.Join(filepath.Dir(manifests), "hack", name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(a.dir, "bin", name), script, 0o700)
}

func (a *ArgoCD) startRepoServer(ctx context.Context) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	a.repoServer = "127.0.0.1:" + ports[0]
	p, err := a.spawn("argocd-repo-server", nil, "--address=127.0.0.1", "--port="+ports[0], "--metrics-address=127.0.0.1",
		"--metrics-port="+ports[1], "--redis="+a.redis.Addr(), "--client-ca-path=", "--logformat=text")
	if err != nil {
		return err
	}
	return p.answering(ctx, a.repoServer)
}

func (a *ArgoCD) startApplicationController(ctx context.Context) error {
	kubeconfig, err := a.cluster.Kubeconfig(ctx, cluster.ArgoNamespace, "argocd-application-controller", "")
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	p, err := a.spawn("argocd-application-controller", []string{"KUBECONFIG=" + kubeconfig}, "--namespace="+cluster.ArgoNamespace,
		"--metrics-port="+port, "--redis="+a.redis.Addr(), "--repo-server="+a.repoServer,
		"--application-namespaces="+strings.Join(a.options.Namespaces, ","), "--logformat=text")
	if err != nil {
		return err
	}
	return p.healthy(ctx, "http://127.0.0.1:"+port+"/healthz")
}

func (a *ArgoCD) startApplicationSetController(ctx context.Context) error {
	kubeconfig, err := a.cluster.Kubeconfig(ctx, cluster.ArgoNamespace, "argocd-applicationset-controller", "")
	if err != nil {
		return err
	}
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	p, err := a.spawn("argocd-applicationset-controller", []string{"KUBECONFIG=" + kubeconfig}, "--namespace="+cluster.ArgoNamespace,
		"--enable-progressive-syncs", "--enable-scm-providers=false", "--enable-leader-election=false",
		"--applicationset-namespaces="+strings.Join(a.options.Namespaces, ","), "--argocd-repo-server="+a.repoServer,
		"--metrics-addr=127.0.0.1:"+ports[0], "--probe-addr=127.0.0.1:"+ports[1], "--webhook-addr=127.0.0.1:"+ports[2], "--logformat=text")
	if err != nil {
		return err
	}
	a.setMetrics = "http://127.0.0.1:" + ports[0] + "/metrics"
	return p.healthy(ctx, a.setMetrics)
}
