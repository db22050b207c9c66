// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/process"
)

// ArgoCD is a running Argo CD.
type ArgoCD struct {
	// Version is its release, such as v3.5.7.
	Version string
	// Traits are how this release differs from others.
	Traits Traits

	env     *environment.Environment
	options Options
	dir     string

	redis      *miniredis.Miniredis
	aged       chan struct{}
	repoServer string
	setMetrics string
	processes  []*process.Process
	kubelet    *kubelet
}

// Options are how an Argo CD is started. Locate fills in the release, Binary and Manifests.
type Options struct {
	release
	// Binary is the program: all controllers, and the CLI.
	Binary string
	// Manifests is the folder "manifests" of the release. The Environment has its CRDs already; RBAC and configuration
	// come from here.
	Manifests string
	// Namespaces hold ApplicationSets and Applications, besides the namespace argocd.
	Namespaces []string
	// AppOfApps has Argo CD watch Applications and ApplicationSets in the cluster, so that Applications may deploy them.
	AppOfApps bool
	// ApplicationSetFlags are more flags of the ApplicationSet controller.
	ApplicationSetFlags []string
	Settings
}

// Settings are what Restart can change.
type Settings struct {
	// Resync is timeout.reconciliation; with a long one, nothing but refreshes makes Argo CD look at git.
	Resync time.Duration
	// Jitter is timeout.reconciliation.jitter.
	Jitter time.Duration
	// Unordered starts the ApplicationSet controller without --enable-progressive-syncs.
	Unordered bool
	// Tracking is application.resourceTrackingMethod; when empty, Argo CD's own default.
	Tracking string
	// Shards are the processes of the application controller, the first one with shard 0. Without any, one process has
	// every cluster.
	Shards []Shard
}

// Start starts Argo CD in the Environment and returns when all its controllers answer.
func Start(ctx context.Context, e *environment.Environment, o Options) (*ArgoCD, error) {
	a := &ArgoCD{Version: o.version, Traits: o.Traits, env: e, options: o, dir: filepath.Join(e.Dir(), "argocd")}
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

// Restart ends all processes and starts them again with other settings, on the same objects.
func (a *ArgoCD) Restart(ctx context.Context, s Settings) error {
	a.stopProcesses()
	a.options.Settings = s
	return a.start(ctx)
}

// Stop ends all processes. Their logs stay until the Environment is stopped.
func (a *ArgoCD) Stop() {
	if a.kubelet != nil {
		a.kubelet.stop()
	}
	a.stopProcesses()
}

func (a *ArgoCD) stopProcesses() {
	for i := len(a.processes) - 1; i >= 0; i-- {
		a.processes[i].StopGroup()
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

// Logs are the files that the controllers write their logs to.
func (a *ArgoCD) Logs() ([]string, error) { return filepath.Glob(filepath.Join(a.dir, "*.log")) }

// start starts Redis and the controllers, each when the one before answers.
func (a *ArgoCD) start(ctx context.Context) error {
	if err := a.setTracking(ctx); err != nil {
		return err
	}
	if err := a.startRedis(); err != nil {
		return err
	}
	addresses, err := freeAddresses(6 + len(a.options.Shards))
	if err != nil {
		return err
	}
	a.repoServer, a.setMetrics = addresses[0], "http://"+addresses[1]+"/metrics"
	for _, c := range a.sharded(a.components(addresses), addresses[6:]) {
		if err := a.startComponent(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// component is one of Argo CD's controllers.
type component struct {
	name string
	// account says that it talks to the API server, as the service account of its name.
	account bool
	args    []string
	// shard tells several processes of one name apart.
	shard *shard
	// url answers 200 when it has started; address accepts connections then.
	url, address string
}

func (a *ArgoCD) components(addresses []string) []component {
	namespaces := strings.Join(a.options.Namespaces, ",")
	return []component{
		{
			name: "argocd-repo-server", address: a.repoServer,
			args: append([]string{
				"--address=127.0.0.1", "--port=" + port(a.repoServer), "--metrics-address=127.0.0.1", "--metrics-port=" +
					port(addresses[2]),
				"--redis=" + a.redis.Addr(), "--logformat=text",
			}, a.options.repoServer...),
		},
		{
			name: applicationController, account: true, url: "http://" + addresses[3] + "/healthz",
			args: []string{
				"--namespace=" + cluster.ArgoNamespace, "--metrics-port=" + port(addresses[3]), "--redis=" + a.redis.Addr(),
				"--repo-server=" + a.repoServer, "--application-namespaces=" + namespaces, "--logformat=text",
			},
		},
		{
			name: "argocd-applicationset-controller", account: true, url: a.setMetrics,
			args: append([]string{
				"--namespace=" + cluster.ArgoNamespace, "--enable-progressive-syncs=" + strconv.FormatBool(!a.options.Unordered),
				"--enable-scm-providers=false",
				"--enable-leader-election=false", "--applicationset-namespaces=" + namespaces, "--argocd-repo-server=" +
					a.repoServer,
				"--metrics-addr=" + addresses[1], "--probe-addr=" + addresses[4], "--webhook-addr=" + addresses[5],
				"--logformat=text",
			}, a.options.ApplicationSetFlags...),
		},
	}
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

// variables keep everything that Argo CD writes, and git's configuration, inside its folder.
func (a *ArgoCD) variables() []string {
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
	const name = "git-verify-wrapper.sh"
	script, err := os.ReadFile(filepath.Join(filepath.Dir(a.options.Manifests), "hack", name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(a.dir, "bin", name), script, 0o700)
}
