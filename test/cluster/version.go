// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Version is the version that the program kube-apiserver says it is.
func (c *Cluster) Version() *version.Version { return c.version }

// HasAdmissionPolicies reports whether the API server serves ValidatingAdmissionPolicies as v1 and by default:
// Kubernetes 1.30 and later.
func (c *Cluster) HasAdmissionPolicies() bool { return c.version.AtLeast(version.MajorMinor(1, 30)) }

// programVersion asks the kube-apiserver in a folder for its version. It answers "Kubernetes v1.36.3".
func programVersion(folder string) (*version.Version, error) {
	text, err := exec.Command(filepath.Join(folder, "kube-apiserver"), "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver --version: %w", err)
	}
	return version.ParseGeneric(strings.TrimSpace(strings.TrimPrefix(string(text), "Kubernetes ")))
}

// switchOn sets the flags of the features that Options wants. A program refuses the name of a feature that it does not
// know.
func (c *Cluster) switchOn(o Options) {
	server := c.env.ControlPlane.GetAPIServer()
	features := o.FeatureGates
	if o.AdmissionPolicies && !c.HasAdmissionPolicies() {
		features = strings.TrimPrefix(features+",ValidatingAdmissionPolicy=true", ",")
		server.Configure().Append("runtime-config", "admissionregistration.k8s.io/v1beta1=true")
	}
	if features != "" {
		server.Configure().Set("feature-gates", features)
	}
}
