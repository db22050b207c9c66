// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// event is what a watch tells of an object: that it is in the first list, that it has changed or appeared, or that it
// is gone.
type event int

const (
	listed event = iota
	changed
	gone
)

// onEvery handles every event by the newest state of its object, and by the one before, which is nil if there was none.
// Where the watch has missed that an object was deleted and created again, the old one is gone first.
func onEvery(f func(before, object any, is event)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, first bool) {
			if first {
				f(nil, object, listed)
			} else {
				f(nil, object, changed)
			}
		},
		UpdateFunc: func(old, object any) {
			if was, err := meta.Accessor(old); err == nil {
				if is, err := meta.Accessor(object); err == nil && was.GetUID() != is.GetUID() {
					f(nil, old, gone)
					old = nil
				}
			}
			f(old, object, changed)
		},
		DeleteFunc: func(object any) {
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj
			}
			f(nil, object, gone)
		},
	}
}
