// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// load gives series with one sample a minute.
func load(texts []string) (storage.Queryable, error) {
	var all []promql.Series
	for _, text := range texts {
		metric, values, err := language.ParseSeriesDesc(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		series := promql.Series{Metric: metric}
		for minute, value := range values {
			if !value.Omitted {
				series.Floats = append(series.Floats, promql.FPoint{T: at(minute).UnixMilli(), F: value.Value})
			}
		}
		all = append(all, series)
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			found := &found{at: -1}
			for _, series := range all {
				if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Metric.Get(m.Name)) }) {
					found.series = append(found.series, series)
				}
			}
			return found
		},
	}}, nil
}

// found is a storage.SeriesSet.
type found struct {
	series []promql.Series
	at     int
}

func (f *found) Next() bool                      { f.at++; return f.at < len(f.series) }
func (f *found) At() storage.Series              { return promql.NewStorageSeries(f.series[f.at]) }
func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }
