// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// The calls for notifications, per second and in a burst: many subscriptions do not flood the API server.
const (
	notifyCalls = 10
	notifyBurst = 20
)

// untoldTime bounds the creation of an Event.
const untoldTime = 5 * time.Second

// notifications are what --notifications runs.
type notifications struct {
	notifier *notify.Notifier
	lock     resourcelock.Interface
	log      logr.Logger
}

// notifications returns the notifications of the replica that holds the Lease; nil if nobody is to be told.
func (p *parts) notifications() (*notifications, error) {
	if !p.options.Notifies {
		return nil, nil
	}
	identity, err := serve.Hostname()
	if err != nil {
		return nil, err
	}
	restConfig := rest.CopyConfig(p.cluster.Config)
	restConfig.QPS, restConfig.Burst = notifyCalls, notifyBurst
	clientset, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	state := p.options.Installation.Notifications()
	// The Lease is renewed by the client that nothing slows down.
	lock, err := serve.NewLock(p.cluster.Clientset, "--notifications", state, identity)
	if err != nil {
		return nil, err
	}
	log := p.log.WithName("notifications")
	cluster := notify.Cluster{Clientset: clientset, Namespace: p.options.Gate.ArgoCD(), State: state}
	notifier := notify.New(notify.Options{
		Config: p.config, Known: p.known, Gated: p.options.Gate.Namespaces.Gated, Source: cluster, Store: cluster,
		Observer: notify.NewMetrics(p.registry), Clock: clock.RealClock{},
		Poster:   untold{kube.EventCreator{Clientset: clientset}, identity, log},
		Evidence: evidence.Watched{Watch: p.evidence.Watch},
	})
	notifier.HearEngine(log)
	p.known.OnChange(notifier.Changed)
	p.presence.OnChange(func() {
		for _, set := range p.known.Sets() {
			notifier.Changed(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
		}
	})
	p.evidence.OnChange(serve.Verified(p.known, settings.NewParser(p.config, clock.RealClock{}), notifier.Changed))
	return &notifications{notifier: notifier, lock: lock, log: log}, nil
}

// run tells people while this replica holds the Lease, until ctx is done, and until what is being sent has ended.
func (n *notifications) run(ctx context.Context) {
	var term sync.Mutex // client-go may begin another term while the last one still ends
	serve.Lead(ctx, n.lock, "notifications", func(ctx context.Context) {
		term.Lock()
		defer term.Unlock()
		n.log.Info("this replica sends notifications")
		n.notifier.Run(ctx)
		n.log.Info("this replica sends no notifications")
	}, func() {})
	term.Lock() // wait for the last one
	defer term.Unlock()
}

// untold posts Events about what people could not be told.
type untold struct {
	create   record.EventCreator
	instance string
	log      logr.Logger
}

// Notify is notify.Poster.
func (u untold) Notify(ctx context.Context, set types.NamespacedName, uid types.UID, note string) {
	ctx, cancel := context.WithTimeout(ctx, untoldTime)
	defer cancel()
	if err := u.create.CreateEvent(ctx, record.NewUntold(set, uid, note, u.instance, time.Now())); err != nil {
		u.log.Info("Event not created", "namespace", set.Namespace, "applicationset", set.Name, "problem", err.Error())
	}
}
