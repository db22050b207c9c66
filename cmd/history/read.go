// SPDX-License-Identifier: Apache-2.0

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

// Why there is no log, beside ledger.ErrVersion and ledger.ErrUnreadable.
var (
	// ErrNoGate says that no installation of stepgate is known.
	ErrNoGate = errors.New("no installation of stepgate was found")
	// ErrOff says that the installation keeps no ledger.
	ErrOff = errors.New("stepgate keeps no ledger")
	// ErrNoLedger says that there is no ledger of the ApplicationSet.
	ErrNoLedger = errors.New("stepgate has no ledger of the ApplicationSet")
	// ErrNoLog says that the ledger has no log.
	ErrNoLog = errors.New("the ledger has no log of rollouts")
	// ErrForbidden says that whoever asks may not read the ledger.
	ErrForbidden = errors.New("the ledger may not be read")
)

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
		switch {
		case apierrors.IsForbidden(err):
			return nil, nil, fmt.Errorf("%w: %w", ErrForbidden, err)
		case err != nil:
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

// Read reads the log of an ApplicationSet. namespace is stepgate's own.
func Read(
	ctx context.Context, client kubernetes.Interface, namespace string, set types.UID,
) (*ledger.Log, error) {
	name := ledger.ID{Set: set}.Name()
	found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", namespace, name, ErrNoLedger)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w: %w", ErrForbidden, err)
	case err != nil:
		return nil, fmt.Errorf("get ConfigMap %s/%s: %w", namespace, name, err)
	}
	o, ours := ledger.ObjectOf(found)
	switch {
	case !ours:
		return nil, fmt.Errorf("ConfigMap %s/%s: %w: its label is missing or of another ApplicationSet", namespace, name,
			ledger.ErrUnreadable)
	case len(o.Rollouts) == 0:
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", namespace, name, ErrNoLog)
	}
	log, err := ledger.DecodeLog(o.Rollouts, set)
	if err != nil {
		return nil, fmt.Errorf("the log of ConfigMap %s/%s: %w", namespace, name, err)
	}
	return log, nil
}
