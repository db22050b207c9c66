// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
)

// language is PromQL as Prometheus has it without feature flags.
var language = parser.NewParser(parser.Options{})

// start is the time of the first scrape, long after the beginning of Unix time, so that no expression looks back behind
// it.
var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// situation is what Prometheus has scraped, once a minute, until it looks at the alerts. It evaluates them once a
// minute, too.
type situation struct {
	// Rules come from a PrometheusRule. Recording rules are left out.
	Rules []rule
	// Series are in the notation of promtool's tests, such as `up{job="a"} 1x10 0x5`.
	Series []string
	// Minutes are counted from the first scrape, which is minute 0.
	Minutes int
}

// rule is a rule of a PrometheusRule.
type rule struct {
	Alert, Record, Expr string
	For                 model.Duration
	Labels, Annotations map[string]string
}

// firing is an alert that fires.
type firing struct {
	Alert               string
	Labels, Annotations map[string]string
}

// firing gives the alerts that fire in the last minute.
func (s situation) firing() ([]firing, error) {
	series, err := load(s.Series)
	if err != nil {
		return nil, err
	}
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, Parser: language, EnableAtModifier: true, EnableNegativeOffset: true,
		// Prometheus notices at once that a target is gone. Here a series that ends is gone after a minute.
		LookbackDelta: 61 * time.Second,
	})
	all := []firing{}
	for _, r := range s.Rules {
		if r.Alert == "" {
			continue
		}
		fires, err := r.after(s.Minutes, func(minute int) (promql.Vector, error) {
			return evaluate(engine, series, r.Expr, at(minute))
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Alert, err)
		}
		all = append(all, fires...)
	}
	return all, nil
}

// after gives the instances of one alert that fire in a minute: those that the expression has given all the time for as
// long as the rule says.
func (r rule) after(minutes int, evaluate func(minute int) (promql.Vector, error)) ([]firing, error) {
	since := map[uint64]int{}
	var last promql.Vector
	for minute := range minutes + 1 {
		result, err := evaluate(minute)
		if err != nil {
			return nil, err
		}
		current := map[uint64]int{}
		for _, sample := range result {
			key := sample.Metric.Hash()
			if _, active := since[key]; !active {
				since[key] = minute
			}
			current[key] = since[key]
		}
		since, last = current, result
	}
	var fires []firing
	for _, sample := range last {
		if time.Duration(minutes-since[sample.Metric.Hash()])*time.Minute < time.Duration(r.For) {
			continue
		}
		f, err := r.instance(sample, at(minutes))
		if err != nil {
			return nil, err
		}
		fires = append(fires, f)
	}
	return fires, nil
}

// instance is the alert of one sample, with its templates filled in as Prometheus does it.
func (r rule) instance(sample promql.Sample, now time.Time) (firing, error) {
	f := firing{Alert: r.Alert, Labels: sample.Metric.Map(), Annotations: map[string]string{}}
	data := template.AlertTemplateData(maps.Clone(f.Labels), nil, "", sample)
	delete(f.Labels, labels.MetricName)
	fill := func(texts, into map[string]string) error {
		for name, text := range texts {
			text = "{{$labels := .Labels}}{{$value := .Value}}" + text
			filled, err := template.NewTemplateExpander(context.Background(), text, r.Alert, data,
				model.TimeFromUnixNano(now.UnixNano()), nil, &url.URL{}, nil).Expand()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			into[name] = filled
		}
		return nil
	}
	return f, errors.Join(fill(r.Labels, f.Labels), fill(r.Annotations, f.Annotations))
}

// evaluate gives the result of an expression at a time.
func evaluate(
	engine *promql.Engine, series storage.Queryable, expression string, now time.Time,
) (promql.Vector, error) {
	query, err := engine.NewInstantQuery(context.Background(), series, nil, expression, now)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	return query.Exec(context.Background()).Vector()
}

func at(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
