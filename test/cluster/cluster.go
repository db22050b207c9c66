// SPDX-License-Identifier: Apache-2.0

// Package cluster runs an etcd and a kube-apiserver on this machine, with Argo CD's CRDs and the accounts of an Argo
// CD.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/checkout"
)

// Cluster is an etcd and a kube-apiserver with RBAC, on loopback.
type Cluster struct {
	// Root is the root of the repository.
	Root string
	// Config is the cluster administrator's.
	Config *rest.Config
	// AuditLog is the API server's audit log, one JSON event per line, with the metadata of every write of an
	// Application or ApplicationSet.
	AuditLog string

	env     *envtest.Environment
	version *version.Version
	dir     string
	scheme  *runtime.Scheme
	mu      sync.Mutex
	cleanup []func()
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    verbs: [create, update, patch]
    resources: [{group: argoproj.io, resources: [applications, applicationsets, applicationsets/status]}]
  - level: None
`

// Options are how a Cluster is started.
type Options struct {
	// Manifests is Argo CD's folder of that name, whose CRDs are installed. It is ArgoManifests when empty.
	Manifests string
	// Configure changes how the API server is started, for nodes that are not on loopback.
	Configure func(*envtest.APIServer) error
	// FeatureGates are the kube-apiserver's, as NAME=true,NAME=false. Those that are not named have their defaults.
	FeatureGates string
	// AdmissionPolicies switches ValidatingAdmissionPolicies on where they are beta and off by default: Kubernetes 1.28
	// and 1.29.
	AdmissionPolicies bool
	// Large is for tens of thousands of objects that are written all the time. It lets etcd take 8 GiB instead of 2, and
	// the API server collect garbage so often that it takes 9 GiB, if that is enough.
	Large bool
}

// Start starts a Cluster with Argo CD's CRDs. It takes the binaries from KUBEBUILDER_ASSETS, else from bin/ (make
// tools).
func Start(o Options) (*Cluster, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	assets, err := assets(root)
	if err != nil {
		return nil, err
	}
	number, err := programVersion(assets)
	if err != nil {
		return nil, err
	}
	if o.Manifests == "" {
		if o.Manifests, err = ArgoManifests(root); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "stepgate-test-")
	if err != nil {
		return nil, err
	}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	c := &Cluster{Root: root, dir: dir, AuditLog: filepath.Join(dir, "audit.log"), version: number}
	admission, err := c.writeAdmissionConfig()
	if err != nil {
		return nil, err
	}
	c.env = &envtest.Environment{
		BinaryAssetsDirectory: assets, CRDDirectoryPaths: crds(o.Manifests), ErrorIfCRDPathMissing: true,
	}
	// On a busy machine, the ten seconds of envtest for the CRDs are not enough, and neither are the twenty for start
	// and end of the two programs.
	c.env.CRDInstallOptions.MaxTime = time.Minute
	c.env.ControlPlaneStartTimeout, c.env.ControlPlaneStopTimeout = time.Minute, time.Minute
	// The log is one file: an API server starts a new one after 100 MB by default, and a long run of e2e writes more.
	c.env.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", c.AuditLog).
		Set("audit-log-maxsize", "10240").Set("admission-control-config-file", admission)
	c.switchOn(o)
	if o.Configure != nil {
		if err := o.Configure(c.env.ControlPlane.GetAPIServer()); err != nil {
			return nil, err
		}
	}
	if o.Large {
		if err := os.Setenv("GOMEMLIMIT", "9GiB"); err != nil {
			return nil, err
		}
		defer func() { _ = os.Unsetenv("GOMEMLIMIT") }()
		c.env.ControlPlane.Etcd = &envtest.Etcd{}
		c.env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(8<<30))
	}
	if c.Config, err = c.env.Start(); err != nil {
		// One of the two may be running.
		return nil, errors.Join(fmt.Errorf("start etcd and kube-apiserver from %s: %w", assets, err), c.Stop())
	}
	c.Config.QPS = -1
	c.scheme = runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(c.scheme); err != nil {
		return nil, err
	}
	return c, argo.AddToScheme(c.scheme)
}

// Cleanup has Stop call a function first. The last one is called first.
func (c *Cluster) Cleanup(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cleanup = append(c.cleanup, f)
}

// Stop stops the processes and removes the files that they stored.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(c.cleanup) {
		f()
	}
	err := c.env.Stop()
	if removeErr := os.RemoveAll(c.dir); err == nil {
		err = removeErr
	}
	return err
}

// Dir is a folder that lives as long as the Cluster.
func (c *Cluster) Dir() string { return c.dir }

// Client returns a client that acts as user, or as the administrator when user is empty. A service account is
// "system:serviceaccount:NAMESPACE:NAME".
func (c *Cluster) Client(user string) (client.Client, error) {
	return c.ClientWithWarnings(user, rest.NoWarnings{})
}

// ClientWithWarnings is Client, with somebody who hears the API server's warnings.
func (c *Cluster) ClientWithWarnings(user string, warnings rest.WarningHandler) (client.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.WarningHandler = warnings
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	return client.New(config, client.Options{Scheme: c.scheme})
}

// AdminKubeconfig writes a kubeconfig of the administrator and returns its path.
func (c *Cluster) AdminKubeconfig() (string, error) {
	path := filepath.Join(c.dir, "admin.kubeconfig")
	return path, os.WriteFile(path, c.env.KubeConfig, 0o600)
}

// tokenLasts is longer than any run. Nothing renews a token, as a kubelet would; by default it lasts for an hour.
const tokenLasts = 24 * time.Hour

// Kubeconfig writes a kubeconfig with a token of the service account and returns its path. server replaces the API
// server's address when it is not empty.
func (c *Cluster) Kubeconfig(ctx context.Context, namespace, account, server string) (string, error) {
	admin, err := c.Client("")
	if err != nil {
		return "", err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLasts.Seconds()))},
	}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := admin.SubResource("token").Create(ctx, owner, request); err != nil {
		return "", fmt.Errorf("token of service account %s/%s: %w", namespace, account, err)
	}
	if server == "" {
		server = c.Config.Host
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	file, err := os.CreateTemp(c.dir, "kubeconfig-")
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return file.Name(), clientcmd.WriteToFile(*config, file.Name())
}

func assets(root string) (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		dir = filepath.Join(root, "bin")
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("%s is not in %s: run `make tools`, or set KUBEBUILDER_ASSETS", name, dir)
		}
	}
	return dir, nil
}

// ArgoManifests is the folder of the manifests of the argo-cd module that go.mod names.
func ArgoManifests(root string) (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3")
	list.Dir = root
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the argo-cd module: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "manifests"), nil
}

func crds(manifests string) []string {
	var crds []string
	for _, kind := range []string{"application", "applicationset", "appproject"} {
		crds = append(crds, filepath.Join(manifests, "crds", kind+"-crd.yaml"))
	}
	return crds
}

// Etcd is the URL of its etcd.
func (c *Cluster) Etcd() string { return c.env.ControlPlane.Etcd.URL.String() }

// URL is the address of the API server.
func (c *Cluster) URL() (*url.URL, error) {
	address := c.Config.Host
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	return url.Parse(address)
}

// ServingCertificate are the files of the API server's own certificate and key.
func (c *Cluster) ServingCertificate() (certificate, key string) {
	dir := c.env.ControlPlane.GetAPIServer().CertDir
	return filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key")
}
