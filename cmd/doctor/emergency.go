// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Way is a way to take the gate out of the way. docs/emergency.md has the same commands.
type Way struct {
	// Name is the value of --way, for those that the doctor can apply.
	Name string `json:"name,omitempty"`
	// For says when it is the right one, and Effect what it does.
	For    string `json:"for"`
	Effect string `json:"effect"`
	// Hindrance says why it does not help here; empty if it does.
	Hindrance string `json:"hindrance,omitempty"`
	// Commits and Commands take the way, and BackCommits and Back take it back.
	Commits     []Commit `json:"commits,omitempty"`
	Commands    []string `json:"commands"`
	BackCommits []Commit `json:"backCommits,omitempty"`
	Back        []string `json:"back,omitempty"`

	namespaces, releases []string
	// unread says that the webhook configurations could not be read.
	unread bool
}

// The ways that the doctor can apply.
const (
	WayNamespace = "namespace"
	WayWebhooks  = "webhooks"
)

// bypassFor is for how long the printed command bypasses an ApplicationSet.
const bypassFor = time.Hour

// NotRead are the Facts of a cluster of which nothing could be read.
func NotRead(now time.Time, err error) *Facts {
	f := &Facts{Now: now, Configurations: err}
	f.Namespaces.Err, f.ApplicationSets.Err = err, err
	return f
}

// Ways are all ways, in the order of docs/emergency.md: first the one that always helps. namespaces are those to open;
// none means all that are gated. There are always ways: what could not be read has its usual name.
func (f *Facts) Ways(namespaces []string) []Way {
	if len(namespaces) == 0 {
		namespaces = f.gatedNamespaces()
	}
	return []Way{f.labels(namespaces), f.oneSync(), f.oneSet(namespaces), f.audit(), f.remove()}
}

// installations are the releases that were found, or else one with the usual names.
func (f *Facts) installations() []*Installation {
	if len(f.Installations) > 0 {
		return f.Installations
	}
	return []*Installation{{Name: usualRelease, Namespace: usualRelease}}
}

// The names that README.md and the pages use, for those that are not known.
const (
	usualRelease   = "stepgate"
	usualNamespace = "argocd"
)

// gatedNamespaces are the namespaces with ordered ApplicationSets that a release gates. Where they cannot be read,
// they are those that stepgate's arguments name.
func (f *Facts) gatedNamespaces() []string {
	var names []string
	for _, r := range f.Installations {
		if f.ApplicationSets.Err != nil && r.Flags != nil && r.Flags.watched()[0] != "" {
			names = append(names, r.Flags.Namespaces...)
		}
		for _, n := range f.orderedNamespaces() {
			if r.gated(n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *Facts) oneSync() Way {
	w := Way{
		For: "one sync is denied and must go through", Effect: "Lets this one sync through.", Commands: []string{
			"argocd app sync APP --info " + settings.BypassInfo + "=INC-1234",
		},
	}
	var users []string
	for _, r := range f.Installations {
		if r.Flags != nil {
			users = append(users, r.Flags.Gate.BypassUsers...)
		}
	}
	if len(users) == 0 {
		w.Hindrance = "Only an Argo CD user whom config.bypassUsers names may. It is empty by default, and empty here, or " +
			"it could not be read."
	} else {
		w.Effect = "Lets this one sync through, if one of these Argo CD users sends it: " + list(users) + "."
	}
	return w
}

func (f *Facts) oneSet(namespaces []string) Way {
	w := Way{For: "one ApplicationSet must go through", Effect: "Bypasses the gate for one hour, for this ApplicationSet."}
	namespace, name := usualNamespace, "NAME"
	if len(namespaces) > 0 {
		namespace = namespaces[0]
	}
	for i := range f.ApplicationSets.Value {
		if set := &f.ApplicationSets.Value[i]; isOrdered(set) && slices.Contains(namespaces, set.Namespace) {
			if name != "NAME" {
				name = "NAME"
				break
			}
			namespace, name = set.Namespace, set.Name
		}
	}
	on := fmt.Sprintf("kubectl -n %s annotate applicationset %s ", namespace, name)
	w.Commands = []string{
		on + fmt.Sprintf("--overwrite '%s=%s INC-1234'", settings.BypassAnnotation,
			f.Now.Add(bypassFor).UTC().Format(time.RFC3339)),
	}
	w.Back = []string{on + settings.BypassAnnotation + "-"}
	for _, r := range f.Installations {
		if r.Flags != nil && slices.Contains(r.Flags.Gate.IgnoredAnnotations, settings.BypassAnnotation) {
			w.Hindrance = fmt.Sprintf("Release %s does not allow this annotation (config.allowedAnnotations).", r.helm())
		}
	}
	return w
}

// labels is the emergency switch.
func (f *Facts) labels(namespaces []string) Way {
	w := Way{
		Name: WayNamespace, For: "syncs must go through now",
		Effect:     "The API server sends stepgate nothing from the namespace any more, in whatever state stepgate is.",
		namespaces: namespaces,
	}
	if len(namespaces) == 0 {
		namespaces = []string{usualNamespace}
		w.Effect += " Put in the namespace of your Applications."
	}
	for _, n := range namespaces {
		w.Commands = append(w.Commands, fmt.Sprintf("kubectl label namespace %s %s=true", n, record.IgnoreLabel))
		w.Back = append(w.Back, fmt.Sprintf("kubectl label namespace %s %s-", n, record.IgnoreLabel))
	}
	for _, r := range f.Installations {
		for _, hook := range r.registrations() {
			if !hook.honoursSwitch() {
				w.Hindrance = fmt.Sprintf("It does not help here: the namespaceSelector of %s %s lacks %s.", hook.Kind, hook.Name,
					record.IgnoreLabel)
			}
		}
	}
	return w
}

func (f *Facts) audit() Way {
	w := Way{
		For: "you may not label namespaces", Effect: "stepgate admits and records everything, once its Pods have restarted.",
	}
	there, back := Upgrade{}, Upgrade{}
	for _, r := range f.installations() {
		if r.Flags != nil && r.Flags.Gate.Mode == settings.Audit {
			w.Hindrance = fmt.Sprintf("Release %s is in audit mode already.", r.helm())
		}
		there, back = there.and(r.upgrade("config.mode=audit")), back.and(r.upgrade("config.mode=enforce"))
	}
	w.Commits, w.Commands, w.BackCommits, w.Back = there.Commits, there.Commands, back.Commits, back.Commands
	return w
}

// ownSelector selects what the chart installs.
const ownSelector = partOfLabel + "=stepgate"

func (f *Facts) remove() Way {
	w := Way{
		Name: WayWebhooks, For: "nothing else helps, or the Applications are in many namespaces",
		Effect: "The API server does not call stepgate any more. Argo CD's selfHeal and helm upgrade bring both " +
			"configurations back.",
		unread: f.Configurations != nil,
	}
	const both = "kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration "
	back := Upgrade{}
	for _, r := range f.installations() {
		back = back.and(r.upgrade())
	}
	w.BackCommits, w.Back = back.Commits, back.Commands
	for _, r := range f.Installations {
		w.Commands, w.releases = append(w.Commands, both+r.Name), append(w.releases, r.Name)
	}
	if len(f.Installations) == 0 {
		w.Commands = []string{both + "-l " + ownSelector}
	}
	return w
}

// EmergencyLines are the ways, for people, and after them what is known of this cluster.
func (f *Facts) EmergencyLines(s screen.Screen, ways []Way) []string {
	lines := []string{s.Paint(screen.Bold, "Ways to let syncs through. The first one always helps:"), ""}
	for i, w := range ways {
		lines = append(append(lines, w.lines(s, i+1)...), "")
	}
	for _, text := range []string{
		"Do not delete the MutatingWebhookConfiguration alone: the validating webhook then denies every automated sync of " +
			"step 2 and later (NotPinned).",
		"stepgate doctor --emergency --apply does 1, after asking; with --way webhooks it does 5. With -n NAMESPACE, it " +
			"does 1 whatever else it can read.",
		"A sync that stepgate has held starts when something changes in its ApplicationSet. To start it at once: argocd " +
			"app get APP --refresh",
		"More: " + screen.Page("docs/emergency.md"),
	} {
		lines = append(lines, s.Wrap("", "", text)...)
	}
	return append(append(lines, ""), f.inTheWay(s)...)
}

// lines are a way, for people.
func (w Way) lines(s screen.Screen, number int) []string {
	lines := s.Wrap(fmt.Sprintf("%d. If ", number), "   ", w.For+":")
	if w.Hindrance != "" {
		lines = append(lines, s.Wrap("   "+s.Paint(screen.Busy, screen.SignWarning)+" ", "     ", w.Hindrance)...)
	}
	lines = append(lines, upgradeLines(s, "   ", w.Commits, w.Commands)...)
	lines = append(lines, s.Wrap("   ", "   ", w.Effect)...)
	if back := w.BackLines(s); len(back) > 0 {
		lines = append(append(lines, "   To take it back:"), back...)
	}
	return lines
}

// BackLines say how a way is taken back, for people.
func (w Way) BackLines(s screen.Screen) []string {
	return upgradeLines(s, "   ", w.BackCommits, w.Back)
}

// Unread says what could not be read of the cluster; empty if everything could.
func (f *Facts) Unread() string {
	all := []error{f.Configurations, f.MutatingConfigurations, f.Namespaces.Err, f.ApplicationSets.Err}
	for _, r := range f.Installations {
		all = append(all, r.Deployment.Err)
	}
	var texts []string
	for _, err := range all {
		if err != nil && !slices.Contains(texts, oneLine(err.Error())) {
			texts = append(texts, oneLine(err.Error()))
		}
	}
	return strings.Join(texts, "; ")
}

// inTheWay says whether stepgate can be what holds syncs up, as far as the cluster could be read.
func (f *Facts) inTheWay(s screen.Screen) []string {
	lines := []string{s.Paint(screen.Bold, "This cluster")}
	if unread := f.Unread(); unread != "" {
		lines = append(lines, s.Wrap("  "+s.Paint(screen.Busy, screen.SignWarning)+" ", "    ",
			"Not all of it could be read, so names above may be the usual ones: "+unread+".")...)
	}
	if f.Configurations == nil && len(f.Installations) == 0 {
		lines = append(lines, s.Wrap("  ", "  ", "stepgate is not installed: no webhook configuration has the webhook "+
			ValidatingWebhook+". It holds nothing up.")...)
	}
	for _, r := range f.Installations {
		lines = append(lines, "  "+r.subject())
		if r.Flags != nil && r.Flags.Gate.Mode == settings.Audit {
			lines = append(lines, s.Wrap("  ", "  ",
				"In audit mode stepgate refuses no sync, unless an annotation of an ApplicationSet says enforce.")...)
		}
	}
	for _, n := range f.Namespaces.Value {
		if f.ignored(n.Name) {
			lines = append(lines, s.Wrap("  ", "  ",
				fmt.Sprintf("Namespace %s has the label %s already: stepgate sees nothing of it.", n.Name,
					presence.EmergencySwitch))...)
		}
	}
	return append(lines, s.Wrap("  ", "  ",
		"Only syncs of Applications of ApplicationSets or with stepgate.io/after, and changes of stepgate's annotations, "+
			"go through stepgate. If anything else hangs, stepgate is not the cause.")...)
}
