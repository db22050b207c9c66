// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// annotationPrefix is the prefix of all annotations of the gate.
	annotationPrefix = "stepgate.io/"
	// subscriptionPrefix is the one of the annotations of Argo CD's notifications.
	subscriptionPrefix = "notifications.argoproj.io/"
)

const (
	// MostText is how long an annotation may be that stepgate reads, in bytes. An API server stores 256 KiB of them with
	// each object, and shows a webhook megabytes.
	MostText = 8 << 10
	// mostSubscriptions bounds the subscriptions of an ApplicationSet, and longestName the name of one: an API server
	// stores none that is longer.
	mostSubscriptions = 50
	longestName       = 253 + 1 + 63
)

// known are the annotations that configure the gate, without their prefix. Another one is not let in.
var known = sets.New(
	"after", "approve", "approved", "approved-by", "bypass", "exclude", "max-failures", "max-update", "mode", "pause",
	"paused-by", "pin", "require", "soak", "track", "verify", "waves",
)

// argoCDs are those of Argo CD that are let in.
var argoCDs = sets.New(
	argo.AnnotationKeyRefresh, common.AnnotationKeyAppSkipReconcile, synccommon.AnnotationSyncWave,
	common.AnnotationKeyAppInstance,
)

// retired are annotations that there were, and what to write instead.
var retired = map[string]string{ //nolint:gosec // a bypass is no password
	"bypass-until": `bypass="TIME REASON"`, "bypass-reason": `bypass="TIME REASON"`,
	"exclude-until": `exclude="NAMES TIME REASON"`, "exclude-reason": `exclude="NAMES TIME REASON"`,
	"pause-reason": `pause="STEPS: REASON"`,
}

// Annotations are annotations of one object as they have come through the door. ReadAnnotations is the door: nothing
// behind it sees a text that is longer than MostText, or an annotation that stepgate does not read. One that is too long
// is unreadable: it is there, without a text, and every parser takes that for the strictest meaning. The zero value has
// none.
type Annotations struct {
	texts map[string]string
	// unreadable says why those are empty that were not let in.
	unreadable map[string]string
}

// ReadAnnotations lets those in that configure the gate, the one that asks Argo CD for a comparison, the one that says that
// nothing here compares the Application, its sync wave, and who has deployed it.
func ReadAnnotations(all map[string]string) (a Annotations) {
	for name, text := range all {
		short, ours := strings.CutPrefix(name, annotationPrefix)
		if ours && known.Has(short) || argoCDs.Has(name) {
			a.let(name, text)
		}
		if form := retired[short]; ours && form != "" {
			a.refuse(name, "not read any more: write "+annotationPrefix+form)
		}
	}
	return a
}

// readSubscriptions lets those in that say who is told of a rollout. Where there are too many, the first ones by name
// count.
func readSubscriptions(all map[string]string) (a Annotations) {
	var names []string
	for name := range all {
		if strings.HasPrefix(name, subscriptionPrefix) && len(name) <= longestName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), mostSubscriptions)] {
		a.let(name, all[name])
	}
	if len(names) > mostSubscriptions {
		a.refuse(names[mostSubscriptions], fmt.Sprintf("one of %d subscriptions, of which %d count", len(names),
			mostSubscriptions))
	}
	return a
}

// UnmarshalJSON decodes annotations, and lets those in that stepgate reads.
func (a *Annotations) UnmarshalJSON(raw []byte) error {
	var all texts
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	*a = ReadAnnotations(all)
	return nil
}

func (a *Annotations) let(name, text string) {
	if len(text) > MostText {
		a.refuse(name, fmt.Sprintf("unreadable, the strictest reading is used: it has %d bytes, more than %d", len(text),
			MostText))
		return
	}
	if a.texts == nil {
		a.texts = map[string]string{}
	}
	a.texts[name] = text
}

func (a *Annotations) refuse(name, why string) {
	if a.unreadable == nil {
		a.unreadable = map[string]string{}
	}
	a.unreadable[name] = why
}

// Get is the text of an annotation, and whether it is there. An unreadable one is there, and empty.
func (a Annotations) Get(name string) (text string, has bool) {
	if text, has = a.texts[name]; has {
		return text, true
	}
	_, has = a.unreadable[name]
	return "", has
}

// Text is the text of an annotation; empty if it is not there, or unreadable.
func (a Annotations) Text(name string) string { return a.texts[name] }

// Unreadable says why an annotation is unreadable; empty if it is not.
func (a Annotations) Unreadable(name string) string { return a.unreadable[name] }

// AllUnreadable are the names of those that are unreadable, in their order.
func (a Annotations) AllUnreadable() []string { return slices.Sorted(maps.Keys(a.unreadable)) }

// With are the annotations with other texts in place of those that can be read.
func (a Annotations) With(texts map[string]string) Annotations {
	with := Annotations{unreadable: maps.Clone(a.unreadable)}
	for name, text := range texts {
		delete(with.unreadable, name)
		with.let(name, text)
	}
	return with
}

// Texts are those that can be read, by name. The caller gets a map of its own.
func (a Annotations) Texts() map[string]string {
	texts := make(map[string]string, len(a.texts))
	maps.Copy(texts, a.texts)
	return texts
}
