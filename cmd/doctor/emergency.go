package doctor

import (
	"fmt"
	"slices"
	"time"

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
	Hindrance string   `json:"hindrance,omitempty"`
	Commands  []string `json:"commands"`
	Back      []string `json:"back,omitempty"`

	namespaces, releases []string
}

// The ways that the doctor can apply.
const (
	WayNamespace = "namespace"
	WayWebhooks  = "webhooks"
)

// bypassFor is for how long the printed command bypasses an ApplicationSet.
const bypassFor = time.Hour

// Ways are all ways, the least drastic first. namespaces are those to open; none means all that are gated.
func (f *Facts) Ways(namespaces []string) []Way {
	if len(namespaces) == 0 {
		namespaces = f.gatedNamespaces()
	}
	return []Way{f.oneSync(), f.oneSet(namespaces), f.labels(namespaces), f.audit(), f.remove()}
}

// gatedNamespaces are the namespaces with RollingSync ApplicationSets that a release gates. Where they cannot be read,
// they are those that stepgate's arguments name.
func (f *Facts) gatedNamespaces() []string {
	var names []string
	for _, r := range f.Releases {
		if f.ApplicationSets.Err != nil && r.Flags != nil && r.Flags.watched()[0] != "" {
			names = append(names, r.Flags.Namespaces...)
		}
		for _, n := range f.rollingNamespaces() {
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
	for _, r := range f.Releases {
		if r.Flags != nil {
			users = append(users, r.Flags.Gate.BypassUsers...)
		}
	}
	if len(users) == 0 {
		w.Hindrance = "No Argo CD user may: config.bypassUsers is empty, or could not be read."
	} else {
		w.Effect = "Lets this one sync through, if one of these Argo CD users sends it: " + list(users) + "."
	}
	return w
}

func (f *Facts) oneSet(namespaces []string) Way {
	w := Way{For: "one ApplicationSet must go through", Effect: "Bypasses the gate for one hour, for this ApplicationSet."}
	namespace, name := "NAMESPACE", "NAME"
	for i := range f.ApplicationSets.Value {
		if set := &f.ApplicationSets.Value[i]; isRollingSync(set) && slices.Contains(namespaces, set.Namespace) {
			if name != "NAME" {
				name = "NAME"
				break
			}
			namespace, name = set.Namespace, set.Name
		}
	}
	on := fmt.Sprintf("kubectl -n %s annotate applicationset %s ", namespace, name)
	w.Commands = []string{
		on + fmt.Sprintf("--overwrite %s=%s %s=INC-1234", settings.BypassUntilAnnotation,
			f.Now.Add(bypassFor).UTC().Format(time.RFC3339), settings.BypassReasonAnnotation),
	}
	w.Back = []string{on + settings.BypassUntilAnnotation + "- " + settings.BypassReasonAnnotation + "-"}
	for _, r := range f.Releases {
		if r.Flags != nil && slices.Contains(r.Flags.Gate.IgnoredAnnotations, settings.BypassUntilAnnotation) {
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
	for _, n := range namespaces {
		w.Commands = append(w.Commands, fmt.Sprintf("kubectl label namespace %s %s=true", n, record.IgnoreLabel))
		w.Back = append(w.Back, fmt.Sprintf("kubectl label namespace %s %s-", n, record.IgnoreLabel))
	}
	if len(namespaces) == 0 {
		w.Commands = []string{fmt.Sprintf("kubectl label namespace NAMESPACE %s=true", record.IgnoreLabel)}
		w.Back = []string{fmt.Sprintf("kubectl label namespace NAMESPACE %s-", record.IgnoreLabel)}
	}
	for _, r := range f.Releases {
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
	for _, r := range f.Releases {
		if r.Flags != nil && r.Flags.Gate.Mode == settings.Audit {
			w.Hindrance = fmt.Sprintf("Release %s is in audit mode already.", r.helm())
		}
		w.Commands = append(w.Commands, r.upgrade("config.mode=audit"))
		w.Back = append(w.Back, r.upgrade("config.mode=enforce"))
	}
	return w
}

func (f *Facts) remove() Way {
	w := Way{
		Name: WayWebhooks, For: "the Applications are in many namespaces",
		Effect: "The API server does not call stepgate any more. helm upgrade and Argo CD's selfHeal bring both " +
			"configurations back.",
	}
	for _, r := range f.Releases {
		w.Commands = append(w.Commands, "kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration "+r.Name)
		w.Back = append(w.Back, r.upgrade())
		w.releases = append(w.releases, r.Name)
	}
	return w
}

// EmergencyLines are the ways, for people.
func (f *Facts) EmergencyLines(s screen.Screen, ways []Way) []string {
	if len(f.Releases) == 0 {
		return s.Wrap("", "", "stepgate is not installed in this cluster: no webhook configuration has the webhook "+
			""+ValidatingWebhook+". It holds nothing up.")
	}
	lines := append(f.inTheWay(s), s.Wrap("", "", "The ways to take the gate out of the way, the least drastic first:")...)
	lines = append(lines, "")
	for i, w := range ways {
		lines = append(lines, s.Wrap(fmt.Sprintf("%d. If ", i+1), "   ", w.For+":")...)
		if w.Hindrance != "" {
			lines = append(lines, s.Wrap("   "+s.Paint(screen.Busy, screen.SignWarning)+" ", "     ", w.Hindrance)...)
		}
		for _, c := range w.Commands {
			lines = append(lines, commandLine(c))
		}
		lines = append(lines, s.Wrap("   ", "   ", w.Effect)...)
		if len(w.Back) > 0 {
			lines = append(lines, "   To take it back:")
			for _, c := range w.Back {
				lines = append(lines, commandLine(c))
			}
		}
		lines = append(lines, "")
	}
	lines = append(lines, s.Wrap("", "",
		"Do not delete the MutatingWebhookConfiguration alone: the validating webhook then denies every automated sync of "+
			"step 2 and later (NotPinned).")...)
	lines = append(lines, s.Wrap("", "",
		"stepgate doctor --emergency --apply does 3, after asking; with --way webhooks it does 5.")...)
	return append(lines, s.Wrap("", "",
		"A sync that stepgate has held starts when something changes in its ApplicationSet. To start it at once: argocd "+
			"app get APP --refresh")...)
}

// inTheWay says whether stepgate can be what holds syncs up.
func (f *Facts) inTheWay(s screen.Screen) []string {
	var lines []string
	for _, r := range f.Releases {
		lines = append(lines, s.Paint(screen.Bold, r.subject()))
		if r.Flags != nil && r.Flags.Gate.Mode == settings.Audit {
			lines = append(lines, s.Wrap("  ", "  ",
				"In audit mode stepgate refuses no sync, unless an annotation of an ApplicationSet says enforce.")...)
		}
	}
	for _, n := range f.Namespaces.Value {
		if f.ignored(n.Name) {
			lines = append(lines, s.Wrap("  ", "  ",
				fmt.Sprintf("Namespace %s has the label %s already: stepgate sees nothing of it.", n.Name, record.IgnoreLabel))...)
		}
	}
	return append(lines, s.Wrap("  ", "  ",
		"Only syncs of Applications of ApplicationSets go through stepgate. If anything else hangs, stepgate is not the "+
			"cause.")...)
}
