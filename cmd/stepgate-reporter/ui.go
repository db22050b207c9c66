// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/slots"
)

// The reads for Argo CD's UI, per second and in a burst: many who look at it do not flood the API server.
const (
	uiReads = 5
	uiBurst = 20
)

// uiConnections is how many connections argocd-server may keep open.
const uiConnections = 64

// ui answers Argo CD's UI, unless it is switched off.
func (p *parts) ui() (serve.Endpoint, error) {
	e := serve.Endpoint{Flag: "--ui-bind-address", Address: flags.Disabled, Connections: uiConnections}
	o := p.options
	if o.UI.Address == "" {
		return e, nil
	}
	config := rest.CopyConfig(p.cluster.Config)
	config.QPS, config.Burst = uiReads, uiBurst
	objects, err := kube.Objects(config)
	if err != nil {
		return e, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return e, err
	}
	namespace := o.Installation.Namespace()
	options := extension.Options{
		Config: p.config, Known: p.known, Objects: objects, Gated: o.Gate.Namespaces.Gated, Clock: clock.RealClock{},
		Evidence: evidence.Watched{Watch: p.evidence.Watch}, Namespace: namespace,
		Log: func(ctx context.Context, set types.UID) (*ledger.Log, error) {
			return history.Read(ctx, clientset, namespace, set)
		},
	}
	if o.UI.ActTokenFile != "" {
		options.Writes = objects
	}
	if p.config.MaxUpdate {
		options.Slots = slots.NewRecent(slots.ConfigMaps{
			Client: clientset.CoreV1().ConfigMaps(namespace),
		}, clock.RealClock{})
	}
	e.Address = o.UI.Address
	tokens := extension.Tokens{Read: o.UI.TokenFile, Act: o.UI.ActTokenFile}
	e.Handler = extension.New(extension.NewFacts(options), tokens, p.log.WithName("ui"))
	return e, nil
}
