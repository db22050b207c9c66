// SPDX-License-Identifier: Apache-2.0

// Package argocd runs the real Argo CD on this machine, in an environment.Environment: repo-server, application
// controller and ApplicationSet controller as processes under their own service accounts, Redis in this process, git
// repositories as folders, and the argocd CLI in its core mode. It writes nothing outside the folder of the
// Environment. Which releases it can run is in versions.go.
package argocd
