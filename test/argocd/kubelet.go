package argocd

type kubelet struct{}
