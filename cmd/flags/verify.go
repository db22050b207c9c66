// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Verify says which objects may say yes to what a step deploys.
type Verify struct {
	kinds      []string
	namespaces []string
}

func (v *Verify) bind(f *pflag.FlagSet) {
	f.StringSliceVar(&v.kinds, "verify-kinds", nil,
		"kinds of objects that the annotation "+settings.VerifyAnnotation+" may name, as RESOURCE.VERSION.GROUP, such as "+
			"analysisruns.v1alpha1.argoproj.io or jobs.v1.batch, but no secrets; needs the permission to get, list and watch "+
			"them (repeatable)")
	f.StringSliceVar(&v.namespaces, "verify-namespaces", nil,
		"namespaces that the annotation "+settings.VerifyAnnotation+" may name beside its own (repeatable)")
}

func (v *Verify) validate() error {
	for _, text := range v.kinds {
		kind, ok := parseKind(text)
		if !ok {
			return command.Usage("--verify-kinds: %q is not RESOURCE.VERSION.GROUP, such as analysisruns.v1alpha1.argoproj.io",
				text)
		}
		if evidence.Secret(kind) {
			return command.Usage("--verify-kinds: %s hold secrets, and what is said of them would tell what they are", text)
		}
	}
	for _, name := range v.namespaces {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return command.Usage("--verify-namespaces: %q is not the name of a namespace", name)
		}
	}
	return nil
}

// VerifyCreate has stepgate create AnalysisRuns.
type VerifyCreate bool

func (v *VerifyCreate) bind(f *pflag.FlagSet) {
	f.BoolVar((*bool)(v), "verify-create", false,
		"in enforce mode, create the AnalysisRuns for which "+settings.VerifyAnnotation+" names an AnalysisTemplate of its "+
			"own namespace; needs --release, and the permission to get AnalysisTemplates and to create AnalysisRuns")
}

func (v *VerifyCreate) validate(kinds evidence.Kinds) error {
	if _, reads := kinds.Of(settings.Templated); bool(*v) && !reads {
		return command.Usage("--verify-create needs %s among --verify-kinds", settings.Templated)
	}
	return nil
}

// parseKind reads RESOURCE.VERSION.GROUP; the group of the core is empty, as in pods.v1.
func parseKind(text string) (schema.GroupVersionResource, bool) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 || len(validation.IsDNS1123Subdomain(text)) > 0 {
		return schema.GroupVersionResource{}, false
	}
	kind := schema.GroupVersionResource{Resource: parts[0], Version: parts[1]}
	if len(parts) == 3 {
		kind.Group = parts[2]
	}
	return kind, len(kind.Version) > 1 && kind.Version[0] == 'v' && kind.Version[1] >= '1' && kind.Version[1] <= '9'
}

// Kinds are the kinds that stepgate reads.
func (v *Verify) Kinds() (all evidence.Kinds) {
	for _, text := range v.kinds {
		if kind, ok := parseKind(text); ok {
			all = append(all, kind)
		}
	}
	return all
}

// Watched are the namespaces in which it reads them, if it watches Applications in these.
func (v *Verify) Watched(applications []string) []string {
	if applications[0] == "" {
		return applications
	}
	all := slices.Clone(applications)
	for _, name := range v.namespaces {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
