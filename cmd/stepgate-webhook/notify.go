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

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// The calls for notifications, per second and in a burst. They have a client of their own, so that none of a decision
// waits for them.
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

// newNotifications returns the notifications of the replica that holds the Lease. identity names this replica.
func newNotifications(
	o *flags.Options, config settings.Config, c *kube.Cluster, known *siblings.Cache, verified *verification,
	metrics *record.Metrics, identity string, log logr.Logger,
) (*notifications, error) {
	restConfig := rest.CopyConfig(c.Config)
	restConfig.QPS, restConfig.Burst = notifyCalls, notifyBurst
	clientset, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	// The Lease is renewed by the client that nothing slows down.
	lock, err := newLock(c.Clientset, "--notifications-state", o.Notifications.State(), identity)
	if err != nil {
		return nil, err
	}
	log = log.WithName("notifications")
	cluster := notify.Cluster{Clientset: clientset, Namespace: o.Notifications.Namespace, State: o.Notifications.State()}
	options := notify.Options{
		Config: config, Known: known, Gated: o.Gate.Namespaces.Gated, Source: cluster, Store: cluster, Observer: metrics,
		Poster: untold{kube.EventCreator{Clientset: clientset}, identity, log}, Clock: clock.RealClock{},
		Evidence: evidence.Watched{Watch: verified.Watch},
	}
	notifier := notify.New(options)
	notifier.HearEngine(log)
	return &notifications{notifier: notifier, lock: lock, log: log}, nil
}

// run tells people while this replica holds the Lease, until ctx is done, and until what is being sent has ended.
func (n *notifications) run(ctx context.Context) {
	var term sync.Mutex // client-go may begin another term while the last one still ends
	lead(ctx, n.lock, "notifications", func(ctx context.Context) {
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
