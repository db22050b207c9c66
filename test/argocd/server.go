// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
)

// Server is a running argocd-server, with a Redis, and without the controllers.
type Server struct {
	*ArgoCD
	// URL is its address, over HTTP.
	URL string
}

// StartServer installs Argo CD, lets configure change its configuration, and starts argocd-server, which answers then.
// It loads extensions from the folder /tmp/extensions, and from no other.
func StartServer(
	ctx context.Context, e *environment.Environment, o Options, configure func(context.Context) error,
) (*Server, error) {
	a := &ArgoCD{Version: o.version, Traits: o.Traits, env: e, options: o, dir: filepath.Join(e.Dir(), "argocd")}
	for _, dir := range []string{"bin", "tls", "ssh", "gpg", "gpghome", "plugins", "tmp", "home"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := a.install(ctx); err != nil {
		return nil, err
	}
	if err := configure(ctx); err != nil {
		return nil, err
	}
	if err := a.startRedis(); err != nil {
		return nil, err
	}
	free, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	s := &Server{ArgoCD: a, URL: "http://" + free[0]}
	err = a.startComponent(ctx, component{
		name: "argocd-server", account: true, url: s.URL + "/healthz",
		args: []string{
			"--insecure", "--address=127.0.0.1", "--port=" + port(free[0]), "--metrics-address=127.0.0.1",
			"--metrics-port=" + port(free[1]), "--namespace=" + cluster.ArgoNamespace, "--redis=" + a.redis.Addr(),
			"--repo-server=" + free[2], "--enable-proxy-extension", "--logformat=text",
		},
	})
	if err != nil {
		a.Stop()
		return nil, err
	}
	return s, nil
}
