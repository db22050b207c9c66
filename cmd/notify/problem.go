// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// about is what a problem is about. Everything may be missing.
type about struct {
	set              *argocd.ApplicationSet
	trigger, service string
}

const (
	// sayAgain is how often the same problem is logged, and posted as an Event.
	sayAgain = time.Hour
	// forgetAfter is after how long a message that has failed, and is not due any more, is forgotten.
	forgetAfter = 2 * maxWait
)

// problem counts something that keeps people from being told, and says it: once in an hour in the log, and on the
// ApplicationSet.
func (n *Notifier) problem(ctx context.Context, a about, result string, err error) {
	n.Observer.NotificationDone(a.trigger, n.serviceLabel(a.service), result)
	text, now := n.redact.Load().text(err.Error()), n.Clock.Now()
	name := types.NamespacedName{}
	if a.set != nil {
		name = types.NamespacedName{Namespace: a.set.Namespace, Name: a.set.Name}
	}
	key := name.String() + " " + result + " " + text
	if at, said := n.said[key]; said && now.Sub(at) < sayAgain {
		return
	}
	n.said[key] = now
	values := []any{"problem", text, "result", result}
	if a.set != nil {
		values = append(values, "applicationset", name.String(), "trigger", a.trigger,
			"service", policy.ClientText(a.service))
		n.Poster.Notify(ctx, name, types.UID(a.set.UID), "stepgate could not send a notification: "+text)
	}
	logr.FromContextOrDiscard(ctx).Info("notifications", values...)
}

// serviceLabel keeps names out of the metric that only an annotation has.
func (n *Notifier) serviceLabel(service string) string {
	if n.settings == nil || n.settings.services[service] == nil {
		return ""
	}
	return service
}
