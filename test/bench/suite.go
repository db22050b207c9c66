// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// Each registration calls its webhook for the writes of some users. noWebhook calls none. barrierUser writes to the stepgate that has the write barrier. gateUser and the two
// ApplicationSet controllers write to stepgate; for unmutatedController its mutating webhook is not called, and the
// operations name the revision themselves. deniedUser writes to two webhooks that pin and deny everything, and idleUser to
// two that look at nothing.
const (
	noWebhook           = "bench-none"
	alwaysUser          = "bench-always"
	plainUser           = "bench-plain"
	deniedUser          = "bench-denied"
	idleUser            = "bench-idle"
	gateUser            = "bench-stepgate"
	barrierUser         = "bench-barrier"
	controller          = "system:serviceaccount:bench:applicationset-controller"
	unmutatedController = "system:serviceaccount:bench:unmutated-applicationset-controller"
)

// suite is everything that the measurements share.
type suite struct {
	*environment.Environment
	options options
	// out is where results are printed.
	out    *report.Printer
	server int // the process of the kube-apiserver

	// gate is measured. counted is another instance, whose reads go through meter; it is not called by the API server.
	gate, counted *installed.Replica
	// barrier is an instance with the write barrier.
	barrier *installed.Replica
	meter   *faultproxy.Proxy
	// reader is the configuration of a client under stepgate's service account, and counter of one through meter.
	reader, counter *rest.Config
	patchers        map[string]*patcher
	// hosted are the webhooks of this process; nil until something is measured with them.
	hosted *hosted
	// none has one Application, and no webhook.
	none     *rollout
	rollouts map[int]*rollout
	replicas []*installed.Replica
}

func newSuite(e *environment.Environment, o options, out *report.Printer) *suite {
	return &suite{Environment: e, options: o, out: out, rollouts: map[int]*rollout{}, patchers: map[string]*patcher{}}
}

// start starts three instances of stepgate, which have nothing to decide yet. Like all steps of the benchmark it is a
// part of a script: the first step that fails ends the benchmark.
func (s *suite) start(ctx context.Context) {
	host := script.Get(s.URL())
	s.server = script.Get(process.Find("kube-apiserver", "--secure-port="+host.Port())).PID
	s.meter = script.Get(faultproxy.NewProxy(host.Host))
	metered := "https://" + s.meter.Addr()
	s.gate = s.startGate(ctx, installed.Options{Registration: installed.Registration{Name: "stepgate"}})
	s.counted = s.startGate(ctx, installed.Options{
		Registration: installed.Registration{Name: "stepgate-counted", Namespaces: []string{"none"}}, APIServer: metered,
	})
	s.barrier = s.startGate(ctx, installed.Options{Registration: installed.Registration{Name: barrierUser}, Barrier: true})
	script.Get(installed.CreateBarrier(ctx, s.Environment, barrierUser))
	s.reader, s.counter = s.config(ctx, ""), s.config(ctx, metered)
}

func (s *suite) startGate(ctx context.Context, o installed.Options) *installed.Replica {
	if s.options.profiles != "" {
		o.Args = append(o.Args, "--profiling")
	}
	gate, err := installed.StartOne(ctx, s.Environment, o)
	if gate != nil {
		s.replicas = append(s.replicas, gate)
	}
	script.Must(err)
	script.Must(gate.WaitReady(ctx))
	return gate
}

// config is the configuration of `stepgate-webhook serve`: the same service account, and no limit of its own.
func (s *suite) config(ctx context.Context, server string) *rest.Config {
	path := script.Get(s.Kubeconfig(ctx, "stepgate", "stepgate", server))
	config := script.Get(clientcmd.BuildConfigFromFlags("", path))
	config.QPS, config.UserAgent = -1, "stepgate-bench"
	return config
}

// users lets the users write Applications.
func (s *suite) users(ctx context.Context) {
	meta := metav1.ObjectMeta{Name: "bench"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"patch"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	}
	for _, user := range []string{noWebhook, alwaysUser, plainUser, deniedUser, idleUser, gateUser, barrierUser,
		controller, unmutatedController} {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user})
		s.patchers[user] = s.patcher(user)
	}
	script.Must(errors.Join(s.Admin.Create(ctx, role), s.Admin.Create(ctx, binding)))
}

// patcher decodes nothing of an answer but its status, so that the client adds little to the measurement. Without a
// user it is the administrator.
func (s *suite) patcher(user string) *patcher {
	config := rest.CopyConfig(s.Config)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	config.APIPath, config.GroupVersion = "/apis", &argo.SchemeGroupVersion
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	pinned := user == unmutatedController || user == plainUser
	return &patcher{client: script.Get(rest.RESTClientFor(config)), pinned: pinned}
}

// rollout returns the rollout with so many Applications, and creates it the first time.
func (s *suite) rollout(ctx context.Context, siblings int) *rollout {
	if s.rollouts[siblings] == nil {
		s.rollouts[siblings] = newRollout(ctx, s.Admin, fmt.Sprintf("bench-%d", siblings), nil, siblings)
	}
	return s.rollouts[siblings]
}

// stop ends the processes that start has started.
func (s *suite) stop() {
	for _, replica := range s.replicas {
		replica.Kill()
	}
	if s.meter != nil {
		s.meter.Close()
	}
}
