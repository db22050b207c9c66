package flags

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestWriteBarrierFlags(t *testing.T) {
	for args, wantError := range map[string]string{
		"":                           "",
		"--write-barrier stepgate/b": "",
		"--write-barrier stepgate/b --application-namespaces team-*": "",
		"--write-barrier stepgate":                                   `--write-barrier: "stepgate" is not NAMESPACE/NAME`,
		"--write-barrier /b":                                         "is not NAMESPACE/NAME",
		"--write-barrier a/b/c":                                      "is not NAMESPACE/NAME",
		"--write-barrier stepgate/b --application-namespaces argocd": "--write-barrier: it needs one watch of all namespaces",
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			o := parsed(t, args)
			if err := o.Validate(); wantError == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(wantError)))
			}
		})
	}
}
