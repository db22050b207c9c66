package siblings

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
)

func at(repo, revision string) []policy.Source {
	return []policy.Source{{Key: repo, Revision: revision}}
}

// watching plays the events of a watch, "NAME=REVISION/STATUS[!][@DESTINATION][+PHASE]": an exclamation mark is a pending
// request for a refresh, and the phase is of a full sync. "NAME=gone", "NAME=missed" and "NAME=odd" end it, or
// are no Application.
func watching(events string) *Observations {
	s := NewObservations()
	watch := s.handler()
	statuses := map[string]string{"S": "Synced", "O": "OutOfSync", "U": "Unknown"}
	for _, event := range strings.Fields(events) {
		name, rest, _ := strings.Cut(event, "=")
		p := &Projection{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Owner: "set"}
		switch rest {
		case "gone":
			watch.OnDelete(p)
		case "missed":
			watch.OnDelete(cache.DeletedFinalStateUnknown{Obj: p})
		case "odd":
			watch.OnAdd("odd", false)
			watch.OnDelete("odd")
		default:
			rest, phase, _ := strings.Cut(rest, "+")
			rest, destination, _ := strings.Cut(rest, "@")
			rest, refresh := strings.CutSuffix(rest, "!")
			revision, status, _ := strings.Cut(rest, "/")
			p.Destination = destination
			p.Application = policy.Application{
				Compared: at("repo", revision), SyncStatus: statuses[status], SpecCompared: true, RefreshRequested: refresh,
				LastOperation: policy.LastOperation{Phase: phase, Full: true},
			}
			watch.OnUpdate(nil, p)
		}
	}
	return s
}

// TestChanged asks at which event the change to revision b of prod was first seen.
func TestChanged(t *testing.T) {
	for name, row := range map[string]struct {
		events string
		want   uint64
	}{
		"nothing was seen":                              {"", 0},
		"another revision: now":                         {"prod=a/S dev=a/S", 2},
		"it appears":                                    {"prod=a/S prod=b/O", 2},
		"comparing it again changes nothing":            {"prod=a/S prod=b/O dev=a/S prod=b/O", 2},
		"nor does syncing it":                           {"prod=a/S prod=b/O prod=b/S", 2},
		"falling OutOfSync anew is a new change":        {"prod=a/S prod=b/O prod=b/S prod=b/O dev=a/S prod=b/O", 4},
		"the watch began later":                         {"dev=a/S prod=b/O dev=b/S prod=b/O", 2},
		"it went away: now":                             {"prod=b/O prod=c/O dev=a/S", 3},
		"it came back":                                  {"prod=b/O prod=a/O prod=b/O", 3},
		"a comparison that failed is not one of it":     {"prod=b/O prod=/U prod=b/O", 3},
		"an Application that is gone is forgotten: now": {"prod=b/O dev=a/S prod=gone", 2},
		"one of whose end the watch missed is, too":     {"prod=b/O dev=a/S prod=missed", 2},
		"an object of another kind changes nothing":     {"prod=b/O x=odd", 1},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(watching(row.events).Changed("prod", at("repo", "b"))).To(Equal(row.want))
		})
	}
}

// TestFresh asks whether dev is known to be compared since the second event.
func TestFresh(t *testing.T) {
	for name, row := range map[string]struct {
		events string
		want   bool
	}{
		"never asked":                             {"dev=a/S prod=b/O dev=a/S", false},
		"asked and answered":                      {"dev=a/S prod=b/O dev=a/S! dev=a/S", true},
		"answered with something new":             {"dev=a/S prod=b/O dev=a/S! dev=b/O", true},
		"answered, and synced since":              {"dev=a/S prod=b/O dev=a/S! dev=b/O dev=b/S", true},
		"asked and not answered":                  {"dev=a/S prod=b/O dev=a/S!", false},
		"asked before":                            {"dev=a/S! prod=b/O dev=a/S", false},
		"asked before, and asked again meanwhile": {"dev=a/S! prod=b/O dev=a/S! dev=a/S", false},
		"asked before, answered and asked again":  {"dev=a/S! prod=b/O dev=a/S dev=a/S! dev=a/S", true},
		"answered by a failure":                   {"dev=a/S prod=b/O dev=a/S! dev=/U", false},
		"compared with something else since":      {"dev=a/S prod=b/O dev=a/S! dev=b/O dev=a/S", false},
		"of another ApplicationSet by now":        {"dev=a/S prod=b/O dev=a/S! dev=a/S dev=gone", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(watching(row.events).Seen("set", 2).Fresh["dev"]).To(Equal(row.want))
			NewWithT(t).Expect(watching(row.events).Seen("other", 0).Fresh).To(BeEmpty())
		})
	}
}

// TestMoved asks whether dev has got another destination since it was deployed.
func TestMoved(t *testing.T) {
	for name, row := range map[string]struct {
		events string
		want   bool
	}{
		"the same destination":                  {"dev=a/S@one dev=a/O@one", false},
		"another destination":                   {"dev=a/S@one dev=a/O@two", true},
		"another destination, and synced":       {"dev=a/S@one dev=a/O@two dev=a/S@two", false},
		"another, and a sync has succeeded":     {"dev=a/S@one dev=a/O@two dev=a/O@two+Running dev=a/O@two+Succeeded", false},
		"another, and a sync has failed":        {"dev=a/S@one dev=a/O@two dev=a/O@two+Running dev=a/O@two+Failed", true},
		"another while a sync runs":             {"dev=a/S@one dev=a/O@one+Running dev=a/O@two+Running dev=a/O@two+Succeeded", true},
		"another, while the old sync is told":   {"dev=a/S@one+Succeeded dev=a/O@two+Succeeded", true},
		"another, and there and back":           {"dev=a/S@one dev=a/O@two dev=a/O@one", false},
		"it was never seen where it was synced": {"dev=a/O@one dev=a/O@two", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(watching(row.events).Seen("set", 0).Moved["dev"]).To(Equal(row.want))
		})
	}
}

// TestObservationsAreBounded forgets everything of Applications that are gone, and follows a change of owner.
func TestObservationsAreBounded(t *testing.T) {
	g := NewWithT(t)
	s := watching("dev=a/S qa=a/S")
	moved := &Projection{ObjectMeta: metav1.ObjectMeta{Name: "qa", UID: "qa"}, Owner: "other"}
	s.Observe(moved)
	g.Expect(s.owned).To(HaveLen(2))
	s.Forget(moved)
	g.Expect(s.owned).To(HaveLen(1))
	s.Forget(&Projection{ObjectMeta: metav1.ObjectMeta{UID: "dev"}})
	g.Expect(s.owned).To(BeEmpty())
	g.Expect(s.apps).To(BeEmpty())
}
