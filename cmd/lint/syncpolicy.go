// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/render"
)

// automatedSync looks at the sync policies of the Applications.
//
// With RollingSync, disableAutomatedSync of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go, sets
// automated.enabled to false in every Application that has automated. SyncDesiredApplications, before that, takes prune
// over if it is enabled. syncApplication copies retry.
func (c *checker) automatedSync() {
	automated := false
	patch := c.Set.Spec.TemplatePatch
	if patch != nil && patched(*patch) == nil && strings.Contains(*patch, "syncPolicy") {
		c.gapOnce("templatePatch", "the sync policy that templatePatch sets: it is a template")
	}
	for _, t := range c.templates() {
		p := t.template.Spec.SyncPolicy
		if p == nil {
			continue
		}
		path := t.path.and("spec", "syncPolicy")
		automated = automated || p.IsAutomatedSyncEnabled()
		if p.Automated != nil && c.progressiveSyncs() {
			c.automated(p, path.and("automated"))
		}
		if p.Retry != nil && p.Retry.Refresh {
			c.found("retry-refresh", path.and("retry", "refresh"),
				"A retry of a sync may deploy a commit that the earlier steps do not have: retry.refresh is true. Where stepgate "+
					"enforces, retries keep to their commit.")
		}
	}
	if c.ignoredByController() && !automated {
		c.found("progressive-syncs-off", to("spec", "strategy"),
			fmt.Sprintf("The ApplicationSet controller records no step of the %s: it runs without progressive syncs, and "+
				"nothing syncs them in order.", count(len(c.Applications), "Application")))
	}
}

func (c *checker) automated(p *argo.SyncPolicy, path Path) {
	a := p.Automated
	switch {
	case !p.IsAutomatedSyncEnabled():
		if a.GetPrune() {
			c.found("prune-ignored", path.and("prune"),
				"prune is true, and the ApplicationSet controller does not prune: automated.enabled is false.")
		}
	case a.GetSelfHeal():
		c.found("self-heal-disabled", path.and("selfHeal"),
			"selfHeal is true, and the ApplicationSet controller switches it off together with automated sync.")
	default:
		c.found("automated-disabled", path,
			"The ApplicationSet controller switches automated sync off, and starts the syncs itself.")
	}
}

// progressiveSyncs reports whether the ApplicationSet controller follows the steps. A live ApplicationSet shows it, if
// it has Applications.
func (c *checker) progressiveSyncs() bool {
	switch {
	case c.rule.Waves, c.ignoredByController():
		return false
	case c.Live && len(c.Set.Status.ApplicationStatus) > 0:
		return true
	}
	return c.options.ProgressiveSyncs
}

// ignoredByController reports whether Applications exist, and the controller has recorded no step.
func (c *checker) ignoredByController() bool {
	return c.Live && len(c.Applications) > 0 && len(c.Set.Status.ApplicationStatus) == 0
}

// syncWave is the annotation by which Argo CD puts the resources of one sync in order.
const syncWave = "argocd.argoproj.io/sync-wave"

// syncWaves reports sync waves of the Applications: they look like an order.
func (c *checker) syncWaves() {
	for _, t := range c.templates() {
		if wave := t.template.Annotations[syncWave]; wave != "" {
			f := c.found("sync-wave", t.path.and("metadata", "annotations", syncWave), fmt.Sprintf(
				"The sync wave %s of generated Applications orders nothing.", short(wave)))
			if len(c.steps) > 0 {
				f.Remedy = "Remove it: the steps of RollingSync are the order."
			}
			return
		}
	}
}

// placed is a template, and where it is.
type placed struct {
	path     Path
	template *argo.ApplicationSetTemplate
}

// templates are those of the ApplicationSet and of its generators, and templatePatch as far as it needs no rendering.
func (c *checker) templates() []placed {
	all := []placed{{to("spec", "template"), &c.Set.Spec.Template}}
	for _, g := range render.Generators(c.Set) {
		if g.Template != nil {
			all = append(all, placed{pathOf(g).and("template"), g.Template})
		}
	}
	if patch := c.Set.Spec.TemplatePatch; patch != nil {
		if t := patched(*patch); t != nil {
			all = append(all, placed{to("spec", "templatePatch"), t})
		}
	}
	return all
}

// patched is what a templatePatch sets; nil if it has to be rendered first.
func patched(patch string) *argo.ApplicationSetTemplate {
	t := &argo.ApplicationSetTemplate{}
	if err := yaml.Unmarshal([]byte(patch), t); err != nil || strings.Contains(patch, "{{") {
		return nil
	}
	return t
}

// updates looks at the settings that keep the ApplicationSet controller from writing to its Applications.
func (c *checker) updates() {
	spec := &c.Set.Spec
	// Reconcile of argo-cd v3.5.7, applicationset/controllers/applicationset_controller.go, calls createInCluster then,
	// which skips the Applications that exist. The operation that starts a sync is part of that write.
	if p := spec.SyncPolicy; p != nil && p.ApplicationsSync != nil && !p.ApplicationsSync.AllowUpdate() {
		c.found("applications-not-updated", to("spec", "syncPolicy", "applicationsSync"),
			fmt.Sprintf("applicationsSync %s keeps the ApplicationSet controller from writing to Applications that exist: it "+
				"never starts a sync.", short(string(*p.ApplicationsSync))))
		if !c.Live {
			c.gapOnce("--policy", "whether the ApplicationSet controller overrides applicationsSync with its flag --policy")
		}
	}
	c.orphans()
	if p := spec.PreservedFields; p != nil {
		for i, key := range p.Labels {
			if c.selectsBy(key) {
				c.found("step-label-kept", to("spec", "preservedFields", "labels", i),
					fmt.Sprintf("The steps select by the label %s, and preservedFields keeps a live value of it.", short(key)))
			}
		}
	}
	for i, d := range spec.IgnoreApplicationDifferences {
		path := to("spec", "ignoreApplicationDifferences", i)
		for j, pointer := range d.JSONPointers {
			c.ignored(path.and("jsonPointers", j), strings.Split(strings.Trim(pointer, "/"), "/"))
		}
		for j, jq := range d.JQPathExpressions {
			c.ignored(path.and("jqPathExpressions", j), jqPath(jq))
		}
	}
}

// orphans reports that Applications may stay that are generated no more.
func (c *checker) orphans() {
	if p := c.Set.Spec.SyncPolicy; p != nil && p.ApplicationsSync != nil && !p.ApplicationsSync.AllowDelete() &&
		!c.progressiveSyncs() {
		c.found("orphans-block", to("spec", "syncPolicy", "applicationsSync"),
			fmt.Sprintf("applicationsSync %s keeps Applications that are generated no more, and later steps wait for them.",
				short(string(*p.ApplicationsSync))))
	}
}

// ignored looks at a field of the Applications that the controller leaves as it is. applyIgnoreDifferences of argo-cd
// v3.5.7, applicationset/utils/createOrUpdate.go, always writes the operation.
func (c *checker) ignored(path Path, field []string) {
	for i := range field {
		field[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(field[i])
	}
	switch {
	case under(field, "spec", "syncPolicy", "automated", "enabled"):
		c.found("sync-policy-kept", path,
			"The ApplicationSet controller does not switch automated sync off in Applications that have it enabled.")
	case len(field) == 3 && field[0] == "metadata" && field[1] == "labels":
		if c.selectsBy(field[2]) {
			c.found("step-label-kept", path,
				fmt.Sprintf("The steps select by the label %s, and the ApplicationSet controller does not update it.",
					short(field[2])))
		}
	case under(field, "metadata", "labels"):
		c.found("step-label-kept", path,
			"The steps select by labels, and the ApplicationSet controller does not update them.")
	}
}

// under reports whether the field is the named one, or one that contains it.
func under(field []string, name ...string) bool {
	return len(field) > 0 && len(field) <= len(name) && slices.Equal(field, name[:len(field)])
}

// jqPath are the fields of a simple path of jq: .metadata.labels["env"]. Of any other expression it returns nothing.
func jqPath(jq string) []string {
	jq = strings.NewReplacer(`["`, ".", `"]`, "", `."`, ".", `"`, "").Replace(strings.TrimSpace(jq))
	if !strings.HasPrefix(jq, ".") || strings.ContainsAny(jq, "|()[] ") {
		return nil
	}
	fields := strings.Split(strings.TrimPrefix(jq, "."), ".")
	if len(fields) > 3 && fields[0] == "metadata" && fields[1] == "labels" {
		fields = append(fields[:2:2], strings.Join(fields[2:], "."))
	}
	return fields
}

// selectsBy reports whether a step selects by the label.
func (c *checker) selectsBy(key string) bool {
	for _, step := range c.steps {
		for _, e := range step {
			if e.Key == key {
				return true
			}
		}
	}
	return false
}
