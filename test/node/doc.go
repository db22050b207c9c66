// Command node installs the chart on a cluster whose Pods real kubelets run, on this machine: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kube-proxy, and two nodes with a kubelet, a containerd and runc each.
// stepgate is the image that `make release-image` builds, pulled from a registry that the command serves; Argo CD's
// controllers are processes. `make e2e-node` runs it.
//
// Everything runs in namespaces of its own (network, mounts, processes, host name, IPC) and keeps its files in one
// temporary folder. Nothing but its cgroups can be seen from the machine. At the end the namespaces, the cgroups and
// the folder go away, also after a failure or an interrupt.
package main
