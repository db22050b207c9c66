// SPDX-License-Identifier: Apache-2.0

// Package extension answers Argo CD's UI: the facts of `stepgate get` and `explain` about the ApplicationSet of one
// Application, or about one that no ApplicationSet controls and that comes after others, as JSON, over argocd-server's
// proxy. It believes argocd-server, which it knows by a shared secret, that the user may get the Application that the
// headers name. It answers about nothing else. If that is switched on, it pauses, resumes and approves for the user whom
// argocd-server names, and writes nothing else. `stepgate-reporter serve` runs it.
package extension
