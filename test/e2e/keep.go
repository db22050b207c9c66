package main

import (
	"os"
	"path/filepath"
)

// keep copies the logs to a folder.
func (s *stand) keep(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := map[string]string{"audit.log": s.cluster.AuditLog}
	for _, name := range []string{"argocd-repo-server", "argocd-application-controller", "argocd-applicationset-controller"} {
		files[name+".log"] = s.argo.Log(name)
	}
	for name, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	for m, g := range s.gates {
		if err := os.WriteFile(filepath.Join(dir, m.gateName()+".log"), []byte(g.Log()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
