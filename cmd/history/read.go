package history

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// ErrNoLog says that the ledger has no log of an ApplicationSet.
var ErrNoLog = errors.New("the ledger has no rollout of it")

// Read reads the log of an ApplicationSet from stepgate's namespace. The error is ErrNoLog if there is none, ErrVersion or
// ErrUnreadable of package ledger if it counts for nothing, or that of the API server.
func Read(ctx context.Context, client kubernetes.Interface, namespace string, set types.UID) (*ledger.Log, error) {
	name := ledger.ID{Set: set}.Name()
	object, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, ErrNoLog
	case err != nil:
		return nil, fmt.Errorf("get ConfigMap %s of namespace %s: %w", name, namespace, err)
	}
	o, ours := ledger.ObjectOf(object)
	if !ours || len(o.Rollouts) == 0 {
		return nil, ErrNoLog
	}
	log, err := ledger.DecodeLog(o.Rollouts, set)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s of namespace %s: %w", name, namespace, err)
	}
	return log, nil
}
