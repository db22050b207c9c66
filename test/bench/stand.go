package main

import (
	"context"
	"fmt"
	"net/url"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/release"
)

// The users by whom the webhooks are told apart: a registration calls its webhook for the writes of one user. What
// noWebhook writes is in a namespace that the emergency switch takes from all of them.
const (
	noWebhook  = "bench-none"
	alwaysUser = "bench-always"
	plainUser  = "bench-plain"
	gateUser   = "bench-stepgate"
)

// stand is what the measurements share.
type stand struct {
	cluster *environment.Environment
	admin   client.Client
	server  int // the process of the kube-apiserver

	// gate is measured. counted is another instance, whose reads go through meter; it is not called by the API server.
	gate, counted *release.Replica
	meter         *faultproxy.Proxy
	// reader is the configuration of a client under stepgate's service account, and counter of one through meter.
	reader, counter *rest.Config
	patchers        map[string]*patcher
	// none has one Application, and no webhook.
	none     *rollout
	rollouts map[int]*rollout
	cleanup  []func() error
}

// start starts the API server and two instances of stepgate, which have nothing to decide yet.
func start(ctx context.Context) (s *stand, err error) {
	s = &stand{rollouts: map[int]*rollout{}, patchers: map[string]*patcher{}}
	defer func() {
		if err != nil {
			_ = s.stop() // the first error says more
		}
	}()
	progress("starting etcd and kube-apiserver, building stepgate")
	if s.cluster, err = environment.Start(ctx, environment.Options{}); err != nil {
		return s, err
	}
	s.cleanup = append(s.cleanup, s.cluster.Stop)
	host, err := url.Parse(s.cluster.Config.Host)
	if err != nil {
		return s, err
	}
	if s.server, err = apiServerPid(host.Port()); err != nil {
		return s, err
	}
	s.admin = s.cluster.Admin
	if s.meter, err = faultproxy.NewProxy(host.Host); err != nil {
		return s, err
	}
	s.cleanup = append(s.cleanup, func() error { s.meter.Close(); return nil })
	if err := s.startGates(ctx); err != nil {
		return s, err
	}
	return s, s.users(ctx)
}

// startGates starts the instance that is measured and the one whose reads are counted, and makes clients like theirs.
func (s *stand) startGates(ctx context.Context) (err error) {
	if s.gate, err = s.startGate(ctx, release.Options{Registration: release.Registration{Name: "stepgate"}}); err != nil {
		return err
	}
	s.counted, err = s.startGate(ctx, release.Options{
		Registration: release.Registration{Name: "stepgate-counted", Namespaces: []string{"none"}}, APIServer: "https://" + s.meter.Addr(),
	})
	if err != nil {
		return err
	}
	if s.reader, err = s.config(ctx, ""); err != nil {
		return err
	}
	s.counter, err = s.config(ctx, "https://"+s.meter.Addr())
	return err
}

func (s *stand) startGate(ctx context.Context, o release.Options) (*release.Replica, error) {
	gate, err := release.StartOne(ctx, s.cluster, o)
	if gate != nil {
		s.cleanup = append(s.cleanup, func() error { gate.Kill(); return nil })
	}
	if err != nil {
		return nil, err
	}
	return gate, gate.WaitReady(ctx)
}

// config is that of `stepgate serve`: the same service account, and no limit of its own.
func (s *stand) config(ctx context.Context, server string) (*rest.Config, error) {
	path, err := s.cluster.Kubeconfig(ctx, "stepgate", "stepgate", server)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.UserAgent = "stepgate-bench"
	return config, nil
}

// users lets the users write Applications.
func (s *stand) users(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: "bench"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"patch"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}}
	for _, user := range []string{noWebhook, alwaysUser, plainUser, gateUser} {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user})
		p, err := s.patcher(user)
		if err != nil {
			return err
		}
		s.patchers[user] = p
	}
	if err := s.admin.Create(ctx, role); err != nil {
		return err
	}
	return s.admin.Create(ctx, binding)
}

// patcher decodes nothing of an answer but its status, so that the client adds little to what is measured.
func (s *stand) patcher(user string) (*patcher, error) {
	config := rest.CopyConfig(s.cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	config.APIPath, config.GroupVersion = "/apis", &argo.SchemeGroupVersion
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return newPatcher(client)
}

// rollout returns the rollout with so many Applications, and creates it the first time.
func (s *stand) rollout(ctx context.Context, siblings int) (*rollout, error) {
	if s.rollouts[siblings] == nil {
		r, err := newRollout(ctx, s.admin, fmt.Sprintf("bench-%d", siblings), nil, siblings)
		if err != nil {
			return nil, fmt.Errorf("create %d Applications: %w", siblings, err)
		}
		s.rollouts[siblings] = r
	}
	return s.rollouts[siblings], nil
}

// stop ends everything, the last first.
func (s *stand) stop() error {
	var first error
	for i := len(s.cleanup) - 1; i >= 0; i-- {
		if err := s.cleanup[i](); err != nil && first == nil {
			first = err
		}
	}
	return first
}
