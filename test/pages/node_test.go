// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/installed"
)

const namespace, name = "stepgate", "stepgate"

// node plays the node and the controller of Deployments, for stepgate alone: it runs the program of the Deployment's
// Pod as a process if it has the image, and the Pod of `helm test`, and it serves the logs.
type node struct {
	webhook, images string

	mu         sync.Mutex
	replica    *installed.Replica
	generation int64
	problem    error
}

// startNode starts a node until the test ends. It runs stepgate at the address webhook, and has the images that are
// named in the files of a folder.
func startNode(t *testing.T, webhook, images string) *node {
	t.Helper()
	g := NewWithT(t)
	n := &node{webhook: webhook, images: images}
	kubelet := httptest.NewTLSServer(http.HandlerFunc(n.logs))
	t.Cleanup(kubelet.Close)
	g.Expect(register(t.Context(), kubelet.URL)).To(Succeed())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
		n.stop()
		if t.Failed() {
			t.Log("the node:", n.problem)
		}
	})
	running.Go(func() {
		for ctx.Err() == nil {
			err := errors.Join(n.deploy(ctx), n.test(ctx))
			n.mu.Lock()
			n.problem = err
			n.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return n
}

// register makes the node known to the API server, which asks it for logs.
func register(ctx context.Context, kubelet string) error {
	address, err := url.Parse(kubelet)
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		return err
	}
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if err := shared.Admin.Create(ctx, o); err != nil {
		return err
	}
	o.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.Hostname()}}
	o.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	return shared.Admin.Status().Update(ctx, o)
}

// has reports whether an image was loaded, pushed or published.
func (n *node) has(image string) bool {
	for _, file := range []string{"there", "published"} {
		text, err := os.ReadFile(filepath.Join(n.images, file))
		if err == nil && slices.Contains(strings.Fields(string(text)), image) {
			return true
		}
	}
	return false
}

// deploy brings the process in line with the Deployment.
func (n *node) deploy(ctx context.Context) error {
	d := &appsv1.Deployment{}
	err := shared.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d)
	if apierrors.IsNotFound(err) {
		n.stop()
		return client.IgnoreNotFound(shared.Admin.Delete(ctx, pod(nil), client.GracePeriodSeconds(0)))
	}
	if err != nil {
		return err
	}
	if *d.Spec.Replicas == 0 {
		n.stop()
		return nil
	}
	if !n.runs(d.Generation) {
		if image := d.Spec.Template.Spec.Containers[0].Image; !n.has(image) {
			return errors.New("the node has no image " + image)
		}
		if err := n.start(ctx, d); err != nil {
			return err
		}
	}
	if err := n.replica.Ready(ctx); err != nil {
		return err
	}
	if d.Status.ObservedGeneration == d.Generation {
		return nil
	}
	replicas := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	return shared.Admin.Status().Update(ctx, d)
}

func (n *node) runs(generation int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.replica != nil && n.generation == generation
}

// start replaces the process by one of this Deployment, and creates the Pod.
func (n *node) start(ctx context.Context, d *appsv1.Deployment) error {
	n.stop()
	replica, err := installed.Deploy(ctx, shared, installed.Chart{Name: name, Namespace: namespace}, n.webhook)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.replica, n.generation = replica, d.Generation
	n.mu.Unlock()
	return client.IgnoreAlreadyExists(shared.Admin.Create(ctx, pod(&d.Spec.Template)))
}

// pod is the Pod of the Deployment.
func pod(template *corev1.PodTemplateSpec) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-0"}}
	if template != nil {
		p.Labels, p.Spec = template.Labels, template.Spec
		p.Spec.NodeName = "node"
	}
	return p
}

func (n *node) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.replica != nil {
		n.replica.Kill()
	}
	n.replica = nil
}

// logs is the /containerLogs of a kubelet.
func (n *node) logs(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, n.log())
}

func (n *node) log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.replica == nil {
		return ""
	}
	return n.replica.Log()
}

// test runs the Pod of `helm test`.
func (n *node) test(ctx context.Context) error {
	p := &corev1.Pod{}
	err := shared.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-selftest"}, p)
	if apierrors.IsNotFound(err) || err == nil && p.Status.Phase != corev1.PodPending {
		return nil
	}
	if err != nil {
		return err
	}
	kubeconfig, err := shared.Kubeconfig(ctx, namespace, p.Spec.ServiceAccountName, "")
	if err != nil {
		return err
	}
	args := append(slices.Clone(p.Spec.Containers[0].Args), "--kubeconfig="+kubeconfig)
	text, err := exec.CommandContext(ctx, shared.Webhook, args...).CombinedOutput()
	p.Status.Phase = corev1.PodSucceeded
	if err != nil {
		p.Status.Phase = corev1.PodFailed
		err = errors.New(string(text))
	}
	return errors.Join(err, shared.Admin.Status().Update(ctx, p))
}
