// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"

	"github.com/stepgate/stepgate/test/environment"
)

// StartReporter starts the reporter of an instance that StartOne has installed, under the reporter's own account. More
// args are flags that it needs to answer Argo CD's UI. It returns when the replica answers its probes.
func StartReporter(ctx context.Context, e *environment.Environment, o Options, args ...string) (*Replica, error) {
	r, err := newReplica(e.Reporter, o.Name)
	if err != nil {
		return nil, err
	}
	r.Webhook = ""
	kubeconfig, err := e.Kubeconfig(ctx, o.Name, o.Name+"-reporter", o.APIServer)
	if err != nil {
		return nil, err
	}
	serve := []string{
		"serve", "--kubeconfig=" + kubeconfig, "--installation=" + o.Name + "/" + o.Name,
		"--metrics-bind-address=" + r.Metrics,
		"--health-probe-bind-address=" + r.Probe,
	}
	if o.Notifies {
		serve = append(serve, "--notifications")
	}
	if o.KeepsMaxUpdate {
		serve = append(serve, "--max-update")
	}
	if o.Starts {
		serve = append(serve, "--start")
	}
	return r, r.start(ctx, e, append(serve, args...))
}
