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

// page is how many ConfigMaps are read at a time: each has up to 1 MiB.
const page = 20

// ReadAll reads the logs of all ApplicationSets from stepgate's namespace, and why others count for nothing, by their UID.
func ReadAll(
	ctx context.Context, client kubernetes.Interface, namespace string,
) (all map[types.UID]*ledger.Log, problems map[types.UID]error, err error) {
	all, problems = map[types.UID]*ledger.Log{}, map[types.UID]error{}
	options := metav1.ListOptions{LabelSelector: ledger.Label, Limit: page}
	for {
		list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, options)
		if err != nil {
			return nil, nil, fmt.Errorf("list the ConfigMaps of the ledger in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			o, ours := ledger.ObjectOf(&list.Items[i])
			if !ours || len(o.Rollouts) == 0 {
				continue
			}
			if all[o.Set], err = ledger.DecodeLog(o.Rollouts, o.Set); err != nil {
				delete(all, o.Set)
				problems[o.Set] = fmt.Errorf("ConfigMap %s of namespace %s: %w", list.Items[i].Name, namespace, err)
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return all, problems, nil
		}
	}
}

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
