// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"io"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/cache"
)

// mostHeard is how many lines of the engine are remembered, so that they are not repeated.
const mostHeard = 200

// HearEngine takes over what the engine logs with logrus: warnings and errors, each once in an hour, without secrets.
// The engine logs whole requests, with their headers, at the level debug: these never count.
func (n *Notifier) HearEngine(log logr.Logger) {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.WarnLevel)
	logrus.AddHook(&heard{n: n, log: log, before: newMemory()})
}

func newMemory() *cache.LRUExpireCache { return cache.NewLRUExpireCache(mostHeard) }

// heard is a logrus.Hook.
type heard struct {
	n      *Notifier
	log    logr.Logger
	before *cache.LRUExpireCache
}

var _ logrus.Hook = (*heard)(nil)

// Levels implements logrus.Hook.
func (*heard) Levels() []logrus.Level {
	return []logrus.Level{logrus.PanicLevel, logrus.FatalLevel, logrus.ErrorLevel, logrus.WarnLevel}
}

// Fire implements logrus.Hook.
func (h *heard) Fire(entry *logrus.Entry) error {
	text := h.n.redact.Load().text(entry.Message)
	if _, before := h.before.Get(text); before {
		return nil
	}
	h.before.Add(text, nil, sayAgain)
	h.log.Info("notifications engine", "problem", text, "severity", entry.Level.String())
	return nil
}
