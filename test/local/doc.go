// Package local runs the real parts on this machine for the tests and the demo: etcd and kube-apiserver with Argo CD's
// CRDs, and stepgate as a process of its own, installed from the manifests of config/.
package local
