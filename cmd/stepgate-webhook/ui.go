package main

import (
	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/places"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// The reads for Argo CD's UI, per second and in a burst. They have a client of their own, so that none of a decision
// waits for them.
const (
	uiReads = 5
	uiBurst = 20
)

// uiConnections is how many connections argocd-server may keep open.
const uiConnections = 64

// uiEndpoint answers Argo CD's UI, unless it is switched off.
func uiEndpoint(
	o *flags.Options, config settings.Config, c *kube.Cluster, known *siblings.Cache, verified *verification,
	log logr.Logger,
) (endpoint, error) {
	e := endpoint{flag: "--ui-bind-address", address: flags.Disabled, connections: uiConnections}
	if o.UI.Address == "" {
		return e, nil
	}
	client := rest.CopyConfig(c.Config)
	client.QPS, client.Burst = uiReads, uiBurst
	objects, err := kube.Objects(client)
	if err != nil {
		return e, err
	}
	options := extension.Options{
		Config: config, Known: known, Objects: objects, Gated: o.Gate.Namespaces.Gated, Clock: clock.RealClock{},
		Evidence: evidence.Watched{Watch: verified.Watch},
	}
	if config.MaxUpdate {
		clientset, err := kubernetes.NewForConfig(client)
		if err != nil {
			return e, err
		}
		options.Places = places.NewRecent(places.ConfigMaps{
			Client: clientset.CoreV1().ConfigMaps(o.MaxUpdate.Namespace),
		}, clock.RealClock{})
	}
	facts := extension.NewFacts(options)
	e.address, e.handler = o.UI.Address, extension.New(facts, o.UI.TokenFile, log.WithName("ui"))
	return e, nil
}
