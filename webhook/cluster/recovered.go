// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// Recovered turns a panic in a live read into an error. Reads run in goroutines of their own, where no request's
// recover would catch the panic: the process would end, and every request with it.
func Recovered[T any](read func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a live read: %v", p)
			klog.Background().Error(err, "panic in a live read", "stack", string(debug.Stack()))
		}
	}()
	return read()
}
