// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warnings is a rest.WarningHandler that collects the warnings of an API server.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader takes one warning.
func (w *Warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// Take returns the warnings since the last call, in their order.
func (w *Warnings) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.texts
	w.texts = nil
	return all
}

// Warned returns a client of Argo CD's objects, with a handler for the warnings of its calls.
func Warned(config *rest.Config, handler rest.WarningHandler) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler, config.WarningHandlerWithContext = handler, nil
	return Objects(config)
}
