// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// operator is the service account of a human with kubectl and the argocd CLI.
const operator = "operator"

// CLI is the argocd CLI in its core mode: it runs Argo CD's API server in its own process, as the user of a kubeconfig.
// That API server serves one namespace.
type CLI struct {
	argo       *ArgoCD
	kubeconfig string
}

// NewCLI makes a CLI for the Applications of a namespace, once per namespace.
func (a *ArgoCD) NewCLI(ctx context.Context, namespace string) (*CLI, error) {
	if a.kubelet == nil {
		if err := a.startKubelet(ctx); err != nil {
			return nil, err
		}
	}
	// The API server in the CLI reads its settings and projects from the namespace that it serves.
	if err := a.copySettings(ctx, namespace); err != nil {
		return nil, err
	}
	for _, name := range []string{"argocd-repo-server", "argocd-redis"} {
		if err := a.pretendPod(ctx, namespace, name); err != nil {
			return nil, err
		}
	}
	path, err := a.env.Kubeconfig(ctx, cluster.ArgoNamespace, operator, "")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	return &CLI{argo: a, kubeconfig: path}, clientcmd.WriteToFile(*config, path)
}

// Sync runs `argocd app sync --prune`, without waiting for the end of the sync, and returns what it printed.
func (c *CLI) Sync(ctx context.Context, application string) (string, error) {
	return c.app(ctx, "sync", application, "--async", "--prune")
}

// SyncUnpruned runs `argocd app sync`, which leaves there what is in git no more.
func (c *CLI) SyncUnpruned(ctx context.Context, application string) (string, error) {
	return c.app(ctx, "sync", application, "--async")
}

// SyncRevision runs `argocd app sync --revision`.
func (c *CLI) SyncRevision(ctx context.Context, application, revision string) (string, error) {
	return c.app(ctx, "sync", application, "--async", "--revision", revision)
}

// Terminate runs `argocd app terminate-op`.
func (c *CLI) Terminate(ctx context.Context, application string) (string, error) {
	return c.app(ctx, "terminate-op", application)
}

// SyncDry runs `argocd app sync --dry-run`.
func (c *CLI) SyncDry(ctx context.Context, application string) (string, error) {
	return c.app(ctx, "sync", application, "--async", "--dry-run")
}

// SyncConfigMap runs `argocd app sync --resource` for one ConfigMap.
func (c *CLI) SyncConfigMap(ctx context.Context, application, name string) (string, error) {
	return c.app(ctx, "sync", application, "--async", "--resource", ":ConfigMap:"+name)
}

// SyncLocal runs `argocd app sync --local` with the manifests of a folder.
func (c *CLI) SyncLocal(ctx context.Context, application, folder string) (string, error) {
	return c.app(ctx, "sync", application, "--async", "--local", folder, "--local-repo-root", folder)
}

// SetParameter runs `argocd app set --parameter` for a parameter of a Helm chart.
func (c *CLI) SetParameter(ctx context.Context, application, name, value string) (string, error) {
	return c.app(ctx, "set", application, "--parameter", name+"="+value)
}

// Rollback runs `argocd app rollback` to an entry of the history, and waits for its end.
func (c *CLI) Rollback(ctx context.Context, application string, id int64) (string, error) {
	return c.app(ctx, "rollback", application, strconv.FormatInt(id, 10))
}

// Generate runs `argocd appset generate` on a file, and returns the Applications as YAML.
func (c *CLI) Generate(ctx context.Context, file string) ([]byte, error) {
	return c.command(ctx, "appset", "generate", file, "-o", "yaml", "--core").Output()
}

// Plugin runs a plugin of argocd that is in a folder.
func (c *CLI) Plugin(ctx context.Context, folder string, args ...string) (string, error) {
	command := c.command(ctx, args...)
	command.Env = append(command.Env, "PATH="+folder+":"+os.Getenv("PATH"))
	text, err := command.CombinedOutput()
	return string(text), err
}

func (c *CLI) app(ctx context.Context, args ...string) (string, error) {
	text, err := c.command(ctx, append(append([]string{"app"}, args...), "--core")...).CombinedOutput()
	return string(text), err
}

func (c *CLI) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, c.argo.options.Binary, args...)
	command.Env = append(c.argo.variables(), "KUBECONFIG="+c.kubeconfig, "ARGOCD_BINARY_NAME=argocd")
	command.Dir = c.argo.dir
	return command
}

// startKubelet registers a node whose kubelet forwards the ports of the repo-server and of Redis.
func (a *ArgoCD) startKubelet(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: operator}}
	if err := a.env.Admin.Create(ctx, account); err != nil {
		return err
	}
	err := a.env.Admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operator},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: cluster.ArgoNamespace, Name: operator}},
	})
	if err != nil {
		return err
	}
	a.kubelet = startKubelet(func(port string) string {
		if port == "6379" {
			return a.redis.Addr()
		}
		return a.repoServer
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "local"}}
	if err := a.env.Admin.Create(ctx, node); err != nil {
		return err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(a.kubelet.port())
	return a.env.Admin.Status().Update(ctx, node)
}

// pretendPod creates a Pod for a process of this machine, so that the CLI finds it.
func (a *ArgoCD) pretendPod(ctx context.Context, namespace, name string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": name},
		},
		Spec: corev1.PodSpec{NodeName: "local", Containers: []corev1.Container{{Name: name, Image: name}}},
	}
	if err := a.env.Admin.Create(ctx, pod); err != nil {
		return fmt.Errorf("create Pod %s/%s: %w", namespace, name, err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return a.env.Admin.Status().Update(ctx, pod)
}

func (a *ArgoCD) copySettings(ctx context.Context, namespace string) error {
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-rbac-cm"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret"}},
	} {
		if err := a.env.Admin.Get(ctx, client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: o.GetName()}, o); err != nil {
			return err
		}
		o.SetNamespace(namespace)
		o.SetResourceVersion("")
		o.SetUID("")
		if err := a.env.Admin.Create(ctx, o); err != nil {
			return fmt.Errorf("copy %s to %s: %w", o.GetName(), namespace, err)
		}
	}
	return a.env.Admin.Create(ctx, project(namespace, "default"))
}
