package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func report(_ *stand, chosen []scenario, all map[string]map[mode]*outcome) error {
	for _, sc := range chosen {
		for _, m := range []mode{off, on, audit} {
			if o := all[sc.key][m]; o != nil {
				printOutcome(o)
			}
		}
	}
	return nil
}

func printOutcome(o *outcome) {
	r := o.rollout
	fmt.Printf("%-24s %-5s starts=%d out_of_order=%d took=%.1fs", r.scenario.key, r.mode, len(o.starts), o.outOfOrder(), o.took.Seconds())
	if o.problem != nil {
		fmt.Printf("  PROBLEM %v", o.problem)
	} else if !o.completed() {
		fmt.Printf("  NOT COMPLETE %s", r.standing())
	}
	fmt.Println()
	for _, s := range o.starts {
		fmt.Printf("      +%.2fs %s change %d %v\n", s.At.Sub(r.began).Seconds(), s.Application, s.Change, s.Behind)
	}
}

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
