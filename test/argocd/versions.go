package argocd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Versions are the releases of Argo CD that the tests can run; the first is the one that they run unless they are told
// otherwise. To add one, add it here and make its module, test/tools/argocd-VERSION, which `make argocd-tools` builds.
func Versions() []string { return []string{"v3.5.7", "v3.6.1"} }

// Locate finds the program and the manifests of a version. Both are of its own module: CRDs, RBAC and configuration
// belong to a release as much as its controllers do. root is the root of the repository.
func Locate(root, version string) (Options, error) {
	if !slices.Contains(Versions(), version) {
		return Options{}, fmt.Errorf("unknown version of Argo CD: %s is not one of %s", version, strings.Join(Versions(), ", "))
	}
	o := Options{Version: version, Binary: filepath.Join(root, "bin", "argocd-"+version)}
	if _, err := os.Stat(o.Binary); err != nil {
		return o, fmt.Errorf("no Argo CD: run `make argocd-tools`: %w", err)
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = filepath.Join(root, "test", "tools", "argocd-"+version)
	list.Env = append(os.Environ(), "GOTOOLCHAIN=auto") // a release may need a newer Go, which its module names
	dir, err := list.Output()
	if err != nil {
		return o, fmt.Errorf("find the module of Argo CD %s: %w", version, err)
	}
	o.Manifests = filepath.Join(strings.TrimSpace(string(dir)), "manifests")
	return o, nil
}

// module is Argo CD's Go module.
const module = "github.com/argoproj/argo-cd/v3"
