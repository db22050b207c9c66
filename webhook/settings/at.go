// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"time"

	"k8s.io/utils/clock"
)

// At is a clock that stands still: for whoever asks what the Settings are at one moment.
func At(moment time.Time) clock.PassiveClock { return at(moment) }

type at time.Time

func (a at) Now() time.Time                  { return time.Time(a) }
func (a at) Since(t time.Time) time.Duration { return a.Now().Sub(t) }
