// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// wirePage has the types of the JSON that the dashboard's page gets and sends.
const wirePage = "cmd/page/src/wire.ts"

// unions are the types that are one of some texts.
var unions = map[reflect.Type][]string{
	reflect.TypeFor[rollout.Urgency](): union(rollout.NeedsYou, rollout.WaitsByItself, rollout.AtWork, rollout.Finished),
	reflect.TypeFor[rollout.Phase]():   union(rollout.Complete, rollout.Progressing, rollout.Waiting, rollout.Ungated),
	reflect.TypeFor[rollout.Kind](): union(rollout.KindDone, rollout.KindRunning, rollout.KindWaits, rollout.KindFailed,
		rollout.KindHeld, rollout.KindExcluded),
	reflect.TypeFor[rollout.Outcome](): union(rollout.Allowed, rollout.Held, rollout.Refused, rollout.Audited,
		rollout.NotGated, rollout.Idle, rollout.Running),
	reflect.TypeFor[audit.Verdict]():  union(audit.OutOfOrder, audit.ByHand, audit.Unclear, audit.InOrder, audit.OneStep),
	reflect.TypeFor[audit.Outcome]():  union(audit.Succeeded, audit.Failed, audit.Running),
	reflect.TypeFor[ledger.Result]():  union(ledger.Complete, ledger.Superseded),
	reflect.TypeFor[dashboard.Verb](): union(dashboard.Pause, dashboard.Resume, dashboard.Approve, dashboard.Refresh),
}

// named are the types with another name in TypeScript, where two packages have the same.
var named = map[reflect.Type]string{
	reflect.TypeFor[audit.Rollout](): "PastRollout", reflect.TypeFor[audit.Outcome](): "SyncOutcome",
	reflect.TypeFor[ledger.Rollout](): "KeptRollout", reflect.TypeFor[ledger.Step](): "KeptStep",
	reflect.TypeFor[ledger.Result](): "KeptResult", reflect.TypeFor[ledger.Wait](): "KeptWait",
	reflect.TypeFor[ledger.Failure](): "KeptFailure", reflect.TypeFor[ledger.Approval](): "KeptApproval",
	reflect.TypeFor[ledger.Evidence](): "KeptEvidence", reflect.TypeFor[ledger.Bypass](): "KeptBypass",
}

func union[T ~string](all ...T) []string {
	var texts []string
	for _, one := range all {
		texts = append(texts, fmt.Sprintf("%q", string(one)))
	}
	return texts
}

// wire writes types and all types of their fields down.
type wire struct {
	texts map[string]string
	order []string
}

// wireTypes is the text of wirePage.
func wireTypes() string {
	w := &wire{texts: map[string]string{}}
	for _, root := range []reflect.Type{
		reflect.TypeFor[dashboard.Overview](), reflect.TypeFor[dashboard.Detail](), reflect.TypeFor[dashboard.Explained](),
		reflect.TypeFor[dashboard.Timeline](), reflect.TypeFor[dashboard.History](), reflect.TypeFor[dashboard.Action](),
		reflect.TypeFor[dashboard.Answer](), reflect.TypeFor[dashboard.Failure](), reflect.TypeFor[extension.Status](),
	} {
		w.of(root)
	}
	text := "// The JSON of the dashboard's server, from its Go types. `make generate` writes this file.\n"
	for _, name := range w.order {
		text += "\n" + w.texts[name]
	}
	return text
}

// of is the name of a type in TypeScript.
func (w *wire) of(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[metav1.Time]():
		return "string"
	case unions[t] != nil:
		return w.declare(t, func(name string) string {
			return fmt.Sprintf("export type %s = %s;\n", name, strings.Join(unions[t], " | "))
		})
	}
	switch t.Kind() { //nolint:exhaustive // of the kinds that the types have
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Slice:
		return w.of(t.Elem()) + "[]"
	case reflect.Map:
		return "Record<string, " + w.of(t.Elem()) + ">"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "number"
	case reflect.Struct:
		return w.declare(t, func(name string) string {
			return fmt.Sprintf("export interface %s {\n%s}\n", name, strings.Join(w.fields(t), ""))
		})
	}
	panic("no TypeScript for " + t.String())
}

// declare writes a type down once, before the types of its fields.
func (w *wire) declare(t reflect.Type, text func(name string) string) string {
	name, known := named[t]
	if !known {
		name = t.Name()
	}
	if _, done := w.texts[name]; !done {
		w.texts[name] = ""
		w.order = append(w.order, name)
		w.texts[name] = text(name)
	}
	return name
}

// fields are those of a struct, as encoding/json has them. A slice without omitempty may be null.
func (w *wire) fields(t reflect.Type) (lines []string) {
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == reflect.TypeFor[metav1.TypeMeta]() || !f.IsExported():
			continue
		case f.Anonymous && tag == "":
			lines = append(lines, w.fields(f.Type)...)
			continue
		}
		optional, null := "", ""
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			optional = "?"
		} else if f.Type.Kind() == reflect.Slice {
			null = " | null"
		}
		lines = append(lines, fmt.Sprintf("  %s%s: %s%s;\n", tag, optional, w.of(f.Type), null))
	}
	return lines
}
