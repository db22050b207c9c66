// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// IgnoreLabel takes a namespace out of the gate if its value is IgnoreValue: the API server then sends none of its
// writes. Any other value has no effect.
const (
	IgnoreLabel = "stepgate.io/ignore"
	IgnoreValue = "true"
)

// mostExemptions bounds the samples, and namespacesTimeout the time for the lists of namespaces.
const (
	mostExemptions    = 1000
	namespacesTimeout = 2 * time.Second
)

// KnownAll gives all ApplicationSets and their Applications as last watched.
type KnownAll interface {
	Sets() []*argocd.ApplicationSet
	Owned(owner types.UID) []*argocd.Projection
}

// Scope knows which namespaces are gated.
type Scope interface {
	// Gated reports whether the Applications of a namespace are gated.
	Gated(namespace string) bool
	// Ignored lists the gated namespaces that have the IgnoreLabel with IgnoreValue.
	Ignored(ctx context.Context) ([]string, error)
	// Ungated lists the namespaces that have ApplicationSets and are not gated.
	Ungated(ctx context.Context) ([]string, error)
}

// Exemptions is what the gate leaves out now, as metrics: nothing is off in silence. It is to be Gathered: it reads.
type Exemptions struct {
	parser *settings.Parser
	known  KnownAll
	scope  Scope
	log    logr.Logger

	mu         sync.Mutex
	namespaces map[string][]string // by kind, as last listed
}

// NewExemptions returns the exemptions by what a Parser makes of annotations.
func NewExemptions(parser *settings.Parser, known KnownAll, scope Scope, log logr.Logger) *Exemptions {
	return &Exemptions{parser: parser, known: known, scope: scope, log: log, namespaces: map[string][]string{}}
}

var (
	exemptionDesc = prometheus.NewDesc("stepgate_exemption",
		"Always 1; what is not gated now: kind off, audit, bypass or exclusion of an ApplicationSet by its annotations, "+
			"ignored_namespace by the label "+IgnoreLabel+", or ungated_namespace, which has ApplicationSets and is none of "+
			"--application-namespaces.",
		[]string{"kind", "applicationset_namespace", "applicationset"}, nil)
	unrecordedDesc = prometheus.NewDesc("stepgate_applicationsets_without_progressive_syncs",
		"ApplicationSets with RollingSync whose controller records no step of any Application: it may run without "+
			"progressive syncs.", nil, nil)
)

// Describe implements prometheus.Collector.
func (e *Exemptions) Describe(out chan<- *prometheus.Desc) {
	out <- exemptionDesc
	out <- unrecordedDesc
}

// Collect implements prometheus.Collector.
func (e *Exemptions) Collect(out chan<- prometheus.Metric) {
	samples, unrecorded := 0, 0
	emit := func(kind, namespace, set string) {
		if samples++; samples <= mostExemptions {
			out <- prometheus.MustNewConstMetric(exemptionDesc, prometheus.GaugeValue, 1, kind, namespace, set)
		}
	}
	for _, set := range e.known.Sets() {
		if !set.Ordered() || !e.scope.Gated(set.Namespace) {
			continue
		}
		exempt, _ := e.parser.Exemptions(set)
		for _, x := range exempt {
			emit(x.Kind, set.Namespace, set.Name)
		}
		if set.RollingSync && len(set.Recorded) == 0 && len(e.known.Owned(types.UID(set.UID))) > 0 {
			unrecorded++
		}
	}
	for kind, names := range e.list() {
		for _, name := range names {
			emit(kind, name, "")
		}
	}
	out <- prometheus.MustNewConstMetric(unrecordedDesc, prometheus.GaugeValue, float64(unrecorded))
}

// list lists the namespaces by kind. If that fails, it is logged, and they are those of the last time: an alert must not
// end because nobody knows whether it still holds.
func (e *Exemptions) list() map[string][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), namespacesTimeout)
	defer cancel()
	for kind, list := range map[string]func(context.Context) ([]string, error){"ignored_namespace": e.scope.Ignored,
		"ungated_namespace": e.scope.Ungated} {
		names, err := list(ctx)
		if err != nil {
			e.log.Info("namespaces cannot be listed; stepgate_exemption has those of the last time", "kind", kind, "problem",
				err.Error())
			continue
		}
		e.namespaces[kind] = names
	}
	return maps.Clone(e.namespaces)
}
