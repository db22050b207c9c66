// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
)

// Helm is the Helm that is built from source, acting as the administrator, with the chart.
type Helm struct {
	// Chart is its folder.
	Chart string

	program string
	env     []string
}

// NewHelm returns the Helm of bin/.
func NewHelm(e *environment.Environment) (*Helm, error) {
	h := &Helm{program: filepath.Join(e.Root, "bin", "helm"), Chart: filepath.Join(e.Root, "charts", "stepgate")}
	if _, err := os.Stat(h.program); err != nil {
		return nil, fmt.Errorf("helm is not in bin/: run `make helm-tools`: %w", err)
	}
	kubeconfig, err := e.AdminKubeconfig()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(e.Dir(), "helm")
	h.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home,
		"HELM_DATA_HOME="+home)
	return h, nil
}

// Run runs Helm and returns its output; the error contains its standard error.
func (h *Helm) Run(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, h.program, args...)
	command.Env, command.Stdout, command.Stderr = h.env, &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// Chart is how the chart is installed.
type Chart struct {
	// Name and Namespace are the Helm release's.
	Name, Namespace string
	// Values are arguments of --set.
	Values []string
	// CertDir replaces the folder where the Deployment mounts the certificate.
	CertDir string
}

// StartChart installs the chart with Helm and starts the process that its Deployment would start. The API server calls
// it by webhook.url, because there is no Service network here.
func StartChart(ctx context.Context, e *environment.Environment, chart Chart) (*Replica, error) {
	r, err := newReplica(e.Webhook, "")
	if err != nil {
		return nil, err
	}
	helm, err := NewHelm(e)
	if err != nil {
		return nil, err
	}
	for _, namespace := range []string{chart.Namespace, cluster.ArgoNamespace} {
		if err := e.CreateNamespace(ctx, namespace); err != nil {
			return nil, err
		}
	}
	args := []string{
		"upgrade", "--install", chart.Name, helm.Chart, "--namespace=" + chart.Namespace, "--set=webhook.url=https://" +
			r.Webhook + "/validate",
	}
	for _, value := range chart.Values {
		args = append(args, "--set="+value)
	}
	if _, err := helm.Run(ctx, args...); err != nil {
		return nil, err
	}
	return r, r.deploy(ctx, e, chart)
}

// Deploy starts the process that the Deployment of a chart that is installed would start. address is the one of its
// webhook.url.
func Deploy(ctx context.Context, e *environment.Environment, chart Chart, address string) (*Replica, error) {
	r, err := newReplica(e.Webhook, "")
	if err != nil {
		return nil, err
	}
	r.Webhook = address
	return r, r.deploy(ctx, e, chart)
}

// deploy starts the process of the chart's Deployment: with the same arguments, except the addresses, and under the
// same service account.
func (r *Replica) deploy(ctx context.Context, e *environment.Environment, chart Chart) error {
	pod, err := chart.pod(ctx, e)
	if err != nil {
		return err
	}
	kubeconfig, err := e.Kubeconfig(ctx, chart.Namespace, pod.ServiceAccountName, "")
	if err != nil {
		return err
	}
	here := map[string]string{
		"--webhook-bind-address": r.Webhook, "--metrics-bind-address": r.Metrics, "--health-probe-bind-address": r.Probe,
	}
	if chart.CertDir != "" {
		here["--cert-dir"] = chart.CertDir
	}
	serve := append(replaceFlags(pod.Containers[0].Args, here), "--kubeconfig="+kubeconfig)
	for _, arg := range serve {
		if installation, ok := strings.CutPrefix(arg, "--installation="); ok {
			_, r.Name, _ = strings.Cut(installation, "/")
		}
	}
	return r.start(ctx, e, serve)
}

// pod is the Pod of the Deployment of the webhook.
func (c Chart) pod(ctx context.Context, e *environment.Environment) (*corev1.PodSpec, error) {
	var deployments appsv1.DeploymentList
	err := e.Admin.List(ctx, &deployments, client.InNamespace(c.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": c.Name, "app.kubernetes.io/component": "webhook"})
	if err != nil {
		return nil, err
	}
	if len(deployments.Items) != 1 {
		return nil, fmt.Errorf("release %s has %d Deployments, not 1", c.Name, len(deployments.Items))
	}
	return &deployments.Items[0].Spec.Template.Spec, nil
}

func replaceFlags(args []string, values map[string]string) []string {
	var replaced []string
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if value, ok := values[name]; ok {
			arg = name + "=" + value
		}
		replaced = append(replaced, arg)
	}
	return replaced
}
