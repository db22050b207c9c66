// SPDX-License-Identifier: Apache-2.0

// Package notify tells people about rollouts, through Argo CD's own notifications engine: that a step waits, needs an
// approval, is stopped or verified, and that a rollout is complete. It reads the services from argocd-notifications-cm
// and argocd-notifications-secret. Triggers and templates there replace the shipped ones. Annotations of the
// ApplicationSets say who is told. It looks at what the watches know, and reads no Application. It never decides, and
// no decision waits for it. `stepgate-reporter serve` runs it.
//
// A message is sent at most once for each destination and occurrence. The Notifier writes down that it sends before it
// does, by compare-and-swap on one ConfigMap. If the process ends between the two, or the API server does not say
// whether it has written, the message is lost. If the service reports an error, the Notifier takes the note back and
// tries again later: a service that has delivered a message and reports an error all the same delivers it twice.
package notify
