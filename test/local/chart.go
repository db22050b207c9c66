package local

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
)

// Helm is the Helm that is built from source, acting as the administrator, with the chart.
type Helm struct {
	// Chart is its folder.
	Chart string

	program string
	env     []string
}

// Helm returns the Helm of bin/; root is the root of the repository.
func (c *Cluster) Helm(root string) (*Helm, error) {
	h := &Helm{program: filepath.Join(root, "bin", "helm"), Chart: filepath.Join(root, "charts", "stepgate")}
	if _, err := os.Stat(h.program); err != nil {
		return nil, fmt.Errorf("helm is not in bin/: run `make helm-tools`: %w", err)
	}
	kubeconfig, err := c.AdminKubeconfig()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(c.dir, "helm")
	h.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return h, nil
}

// Run runs Helm and returns its output; the error has what it wrote to standard error.
func (h *Helm) Run(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, h.program, args...)
	command.Env, command.Stdout, command.Stderr = h.env, &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// Release is how the chart is installed.
type Release struct {
	Name, Namespace string
	// Values are arguments of --set.
	Values []string
	// Binary is the program that is run in place of the image.
	Binary string
	// CertDir replaces the folder where the Deployment mounts the certificate.
	CertDir string
}

// StartRelease installs the chart with Helm and starts what its Deployment would start: the same arguments under the
// same service account, but for the addresses. The API server calls it by webhook.url, because there is no Service
// network here.
func (c *Cluster) StartRelease(ctx context.Context, root string, r Release) (*Gate, error) {
	g := &Gate{exited: make(chan struct{})}
	if err := g.chooseAddresses(); err != nil {
		return nil, err
	}
	helm, err := c.Helm(root)
	if err != nil {
		return nil, err
	}
	if err := c.CreateNamespace(ctx, r.Namespace); err != nil {
		return nil, err
	}
	args := []string{"upgrade", "--install", r.Name, helm.Chart, "--namespace=" + r.Namespace, "--set=webhook.url=https://" + g.Webhook + "/validate"}
	for _, value := range r.Values {
		args = append(args, "--set="+value)
	}
	if _, err := helm.Run(ctx, args...); err != nil {
		return nil, err
	}
	pod, err := c.podOf(ctx, r)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.Kubeconfig(ctx, r.Namespace, pod.ServiceAccountName, "")
	if err != nil {
		return nil, err
	}
	here := map[string]string{
		"--webhook-bind-address": g.Webhook, "--metrics-bind-address": g.Metrics, "--health-probe-bind-address": g.Probe,
	}
	if r.CertDir != "" {
		here["--cert-dir"] = r.CertDir
	}
	serve := append(replaceFlags(pod.Containers[0].Args, here), "--kubeconfig="+kubeconfig)
	for _, arg := range serve {
		if name, ok := strings.CutPrefix(arg, "--webhook-configuration="); ok {
			g.Name = name
		}
	}
	g.command = exec.CommandContext(context.WithoutCancel(ctx), r.Binary, serve...)
	return g, g.start(ctx)
}

// podOf is the Pod of the release's Deployment.
func (c *Cluster) podOf(ctx context.Context, r Release) (*corev1.PodSpec, error) {
	admin, err := c.Client("")
	if err != nil {
		return nil, err
	}
	var deployments appsv1.DeploymentList
	if err := admin.List(ctx, &deployments, client.InNamespace(r.Namespace), client.MatchingLabels{"app.kubernetes.io/instance": r.Name}); err != nil {
		return nil, err
	}
	if len(deployments.Items) != 1 {
		return nil, fmt.Errorf("release %s has %d Deployments, not 1", r.Name, len(deployments.Items))
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
