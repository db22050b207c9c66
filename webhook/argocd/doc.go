// SPDX-License-Identifier: Apache-2.0

// Package argocd turns Argo CD's objects into the types of package policy: the target of an admission request, the
// siblings and the ApplicationSet. It reads nothing and decides nothing. Packages siblings and webhook call it.
//
// Behaviour that it mirrors is named with the file of argo-cd v3.5.7 that it comes from.
package argocd
