// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	backoff "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Verb is what pause, resume and approve have in common.
type Verb struct {
	Objects client.Client
	// Manager is the field manager of the write; empty for that of the client. The gate knows by it for whom the reporter
	// acts.
	Manager string
	// Config is the configuration of the gate, and Installed says that there is one.
	Config    settings.Config
	Installed bool
	// Out is where the lines go, and Screen how they look there.
	Out    io.Writer
	Screen screen.Screen
	// DryRun has the API server and the webhooks judge the change, and stores nothing. Verbose adds the kubectl commands.
	DryRun, Verbose bool
}

// print writes lines.
func (v *Verb) print(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(v.Out, strings.Join(lines, "\n"))
	return err
}

// edits are the new values of annotations; nil removes one.
type edits map[string]*string

// contended is how often a write is tried while others write the same ApplicationSet. The ApplicationSet controller
// does so often.
var contended = backoff.Backoff{Steps: 10, Duration: 20 * time.Millisecond, Factor: 1.6, Jitter: 0.5}

// annotate changes annotations of an ApplicationSet, and leaves the others. decide sees the ApplicationSet as it is
// stored. If somebody else writes it meanwhile, decide is asked again about the result, so that nobody overwrites what
// they have not seen. It returns the ApplicationSet as it is afterwards, with what webhooks have added.
func (v *Verb) annotate(
	ctx context.Context, name types.NamespacedName, decide func(set *argo.ApplicationSet) (edits, error),
) (set *argo.ApplicationSet, made edits, err error) {
	stored, form := storedIn(name)
	err = retry.RetryOnConflict(contended, func() error {
		at := client.ObjectKey{Namespace: name.Namespace, Name: nameOf(name)}
		if err := v.Objects.Get(ctx, at, stored); cluster.IsMissing(err) {
			return live.NoSet(name.Namespace, name.Name)
		} else if err != nil {
			return err
		}
		set = form()
		if made, err = decide(set); err != nil || len(made) == 0 {
			return err
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": set.ResourceVersion, "annotations": made},
		})
		if err != nil {
			return err
		}
		var options []client.PatchOption
		if v.Manager != "" {
			options = append(options, client.FieldOwner(v.Manager))
		}
		if v.DryRun {
			options = append(options, client.DryRunAll)
		}
		err = v.Objects.Patch(ctx, stored, client.RawPatch(types.MergePatchType, patch), options...)
		set = form()
		return err
	})
	return set, made, err
}

// storedIn is the object whose annotations say how what has this name is gated: an ApplicationSet, or a parent, which form
// gives in the form of one.
func storedIn(name types.NamespacedName) (stored client.Object, form func() *argo.ApplicationSet) {
	if _, parent := policy.ParentNamed(name.Name); parent {
		app := &argo.Application{}
		return app, func() *argo.ApplicationSet { return argocd.FormOfParent(app) }
	}
	set := &argo.ApplicationSet{}
	return set, func() *argo.ApplicationSet { return set }
}

// nameOf is the name of that object.
func nameOf(name types.NamespacedName) string {
	if parent, is := policy.ParentNamed(name.Name); is {
		return parent
	}
	return name.Name
}

// shown is its namespace and name, for people.
func shown(name types.NamespacedName) string { return name.Namespace + "/" + nameOf(name) }

// kubectl is the command that makes the same changes.
func (e edits) kubectl(name types.NamespacedName) string {
	kind := "applicationset"
	if _, parent := policy.ParentNamed(name.Name); parent {
		kind = "application"
	}
	words := []string{"kubectl", "-n", name.Namespace, "annotate", kind, nameOf(name), "--overwrite"}
	for _, annotation := range slices.Sorted(maps.Keys(e)) {
		if value := e[annotation]; value != nil {
			words = append(words, quoted(annotation+"="+*value))
		} else {
			words = append(words, annotation+"-")
		}
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// quoted is a word for a shell.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// show prints lines, and after them those that every verb has.
func (v *Verb) show(name types.NamespacedName, made edits, lines ...string) error {
	if v.Verbose && len(made) > 0 {
		lines = append(lines, "$ "+made.kubectl(name))
	}
	if v.DryRun && len(made) > 0 {
		lines = append(lines, "This was a server dry run: nothing is stored.")
	}
	return v.print(lines...)
}

// settings are how an ApplicationSet is gated.
func (v *Verb) settings(set *argo.ApplicationSet) settings.Settings {
	return settings.NewParser(v.Config, clock.RealClock{}).Of(argocd.NewApplicationSet(set))
}

// caveats say why an annotation of an ApplicationSet, which is gated as s says, may not do what it says.
func (v *Verb) caveats(set *argo.ApplicationSet, s settings.Settings, annotation string) []string {
	var texts []string
	for _, p := range s.Problems {
		if p.Annotation == annotation {
			texts = append(texts, "The "+p.String()+".")
		}
	}
	_, own := set.Annotations[settings.ModeAnnotation]
	switch {
	case s.Bypassed:
		texts = append(texts, "The ApplicationSet is bypassed "+s.Bypass+": nothing is held or refused.")
	case s.NoGate != "":
		texts = append(texts, "Nothing is held or refused: "+s.NoGate+".")
	case s.Mode != settings.Enforce && (own || v.Installed):
		texts = append(texts, "The mode is "+s.Mode.String()+": nothing is held or refused.")
	}
	for i, text := range texts {
		texts[i] = v.Screen.Paint(screen.Busy, screen.SignWarning) + " " + text
	}
	return texts
}

// conditionsOf are the conditions of an ApplicationSet as its annotations say, whether the installation allows them or
// not.
func conditionsOf(set *argocd.ApplicationSet) policy.Conditions {
	return settings.NewParser(settings.Config{}, clock.RealClock{}).Of(set).Conditions
}

// stepsOf checks the numbers that people call steps by.
func stepsOf(set *argocd.ApplicationSet, numbers []int) error {
	if !set.Ordered() {
		return fmt.Errorf("%s has no steps of RollingSync", policy.Called(set.Namespace+"/"+set.Name))
	}
	for _, n := range numbers {
		if _, err := rollout.NumberedStep(set, n); err != nil {
			return command.Usage("--step: %s", err)
		}
	}
	return nil
}

// text is the value of an annotation.
func text(value string) *string { return &value }

// numbers are steps as an annotation has them.
func numbers(steps []int) string {
	texts := make([]string, len(steps))
	for i, n := range steps {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// kind is what people call one of the steps of an ApplicationSet without its number.
func kind(set *argocd.ApplicationSet) string {
	if set.Waves {
		return "wave"
	}
	return "step"
}

// named says which steps are meant, as in "steps 3 and 4 of 4 are" and "waves 0 and 20 are".
func named(set *argocd.ApplicationSet, steps []int) string {
	texts, of := strings.Split(numbers(steps), ","), ""
	if !set.Waves {
		of = fmt.Sprintf(" of %d", len(set.Steps))
	}
	if last := len(texts) - 1; last > 0 {
		return fmt.Sprintf("%ss %s and %s%s are", kind(set), strings.Join(texts[:last], ", "), texts[last], of)
	}
	return fmt.Sprintf("%s %s%s is", kind(set), texts[0], of)
}
