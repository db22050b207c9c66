// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

const annotationPrefix = "stepgate.io/"

// settings are what the webhook's own code reads in an installation that allows every annotation.
func (c *checker) settings() settings.Settings {
	set := argocd.NewApplicationSet(c.Set)
	set.Namespace = namespaceOf(set.Namespace)
	return c.parser(set.Namespace, set.Annotations).Of(set)
}

// annotations looks at the annotations of stepgate.
func (c *checker) annotations() {
	given := c.Set.Annotations
	at := to("metadata", "annotations")
	read := c.settings()
	ordered := c.rule.Ordered()
	var known []string
	companions := map[string]string{} // the annotations that have an effect only beside another one
	for _, a := range settings.All() {
		known = append(known, a.Name)
		companions[a.Name] = a.Beside
	}
	invalid := map[string]bool{}
	_, follows := given[settings.AfterAnnotation]
	for _, p := range read.Problems {
		invalid[p.Annotation] = true
		if p.Annotation == settings.AfterAnnotation {
			continue // Input.ordered reports it
		}
		rule := "annotation-invalid"
		switch p.Annotation {
		case settings.TrackAnnotation:
			rule = "track-invalid"
		case settings.WavesAnnotation, settings.MaxUpdateAnnotation:
			rule = "waves-invalid"
		}
		if c.unstamped(p) || !ordered && slices.Contains(conditions, p.Annotation) {
			continue
		}
		c.found(rule, at.and(p.Annotation), fmt.Sprintf("The annotation %s is %s.", p.Annotation, short2(p.Text)))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !strings.HasPrefix(name, annotationPrefix) {
			continue
		}
		path := at.and(name)
		_, beside := given[companions[name]]
		switch {
		case !slices.Contains(known, name) && !invalid[name]:
			c.unknownAnnotation(path, name, known)
		case name == settings.WavesAnnotation, name == settings.MaxUpdateAnnotation: // the problems say it all
		case !ordered && (!follows || name == settings.TrackAnnotation):
			c.found("annotation-without-effect", path,
				fmt.Sprintf("The annotation %s has no effect: the ApplicationSet has no steps, and stepgate gates nothing.", name))
		case companions[name] != "" && !beside:
			c.found("annotation-without-effect", path,
				fmt.Sprintf("The annotation %s has no effect without %s.", name, companions[name]))
		case name == settings.BypassAnnotation && !invalid[name] && !read.Bypassed:
			c.found("annotation-without-effect", path, fmt.Sprintf("The bypass is over: %s.", short(given[name])))
		case name == settings.ExcludeAnnotation && !invalid[name] && len(read.Excluded) == 0:
			c.found("annotation-without-effect", path, "The exclusion is over.")
		}
	}
	c.excluded(at.and(settings.ExcludeAnnotation), slices.Sorted(maps.Keys(read.Excluded)))
	if ordered {
		c.conditions(at)
	}
	for _, t := range c.templates() {
		_, parent := t.template.Annotations[settings.WavesAnnotation] // it orders the Applications that these make
		for _, name := range slices.Sorted(maps.Keys(t.template.Annotations)) {
			if strings.HasPrefix(name, annotationPrefix) && name != settings.AfterAnnotation && !parent {
				c.found("annotation-on-application", t.path.and("metadata", "annotations", name),
					fmt.Sprintf("The annotation %s has no effect on an Application.", short(name)))
			}
		}
		if skip, err := strconv.ParseBool(t.template.Annotations[common.AnnotationKeyAppSkipReconcile]); err == nil && skip {
			c.found("reported", t.path.and("metadata", "annotations", common.AnnotationKeyAppSkipReconcile),
				"The Applications are judged by what an agent reports of them.")
		}
	}
}

func (c *checker) unknownAnnotation(path Path, name string, known []string) {
	f := c.found("annotation-unknown", path, fmt.Sprintf("stepgate has no annotation %s.", short(name)))
	if like := render.Nearest(name, known); like != "" {
		f.Remedy = "Did you mean " + like + "?"
	}
}

// excluded reports names that no Application has, where all Applications are known.
func (c *checker) excluded(path Path, excluded []string) {
	if !c.Known {
		return
	}
	for _, name := range excluded {
		if !slices.ContainsFunc(c.Applications, func(a Application) bool { return a.Name == name }) {
			c.found("excluded-unknown", path,
				fmt.Sprintf("The ApplicationSet has no Application %s, and excludes nobody by this name.", short(name)))
		}
	}
}

// short2 bounds a sentence.
func short2(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:199]) + "…"
	}
	return text
}
