package siblings

import (
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// guarded turns a panic of a live read into its failure. It is for reads in goroutines of their own: no request's
// recover sees what happens there, and the process would end with every request in it.
func guarded[T any](read func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a live read: %v", p)
			klog.Background().Error(err, "panic in a live read", "stack", string(debug.Stack()))
		}
	}()
	return read()
}
