package siblings

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
)

func at(repo, revision string) []policy.Source {
	return []policy.Source{{Key: repo, Revision: revision}}
}

// seenAt is what a watch gives: compared with a revision of a repository at a second.
func seenAt(second int64, repo, revision, syncStatus string) *Projection {
	return &Projection{
		ObjectMeta:  metav1.ObjectMeta{UID: "prod"},
		Application: policy.Application{Compared: at(repo, revision), SyncStatus: syncStatus, ReconciledAt: time.Unix(second, 0)},
	}
}

// TestFirstSeen plays what a watch gives, as "SECOND=REVISION/STATUS", and asks for revision b.
func TestFirstSeen(t *testing.T) {
	statuses := map[string]string{"S": "Synced", "O": "OutOfSync", "U": "Unknown"}
	for name, tc := range map[string]struct {
		events string
		want   int64 // 0 is never
	}{
		"nothing was seen":                              {"", 0},
		"another revision":                              {"1=a/S", 0},
		"it appears":                                    {"1=a/S 5=b/O", 5},
		"comparing it again changes nothing":            {"1=a/S 5=b/O 9=b/O 12=b/O", 5},
		"nor does syncing it":                           {"1=a/S 5=b/O 9=b/S", 5},
		"falling OutOfSync anew is a new change":        {"1=a/S 5=b/O 9=b/S 20=b/O 25=b/O", 20},
		"the watch began later":                         {"7=b/O 9=b/O", 7},
		"it went away":                                  {"5=b/O 9=c/O", 0},
		"it came back":                                  {"5=b/O 9=a/O 12=b/O", 12},
		"a comparison that failed is no sight of it":    {"5=b/O 9=/U 12=b/O", 12},
		"an Application that is gone is forgotten":      {"5=b/O gone", 0},
		"one of whose end the watch missed is, too":     {"5=b/O missed", 0},
		"what is no Application is left alone by a bug": {"5=b/O odd", 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := firstSeenTimes{seen: map[types.UID]firstSeen{}}
			for _, event := range strings.Fields(tc.events) {
				switch event {
				case "gone":
					s.forget(seenAt(0, "repo", "", ""))
				case "missed":
					s.forget(cache.DeletedFinalStateUnknown{Obj: seenAt(0, "repo", "", "")})
				case "odd":
					s.observe("odd")
					s.forget("odd")
				default:
					second, rest, _ := strings.Cut(event, "=")
					revision, status, _ := strings.Cut(rest, "/")
					s.observe(seenAt(parse(second), "repo", revision, statuses[status]))
				}
			}
			var want time.Time
			if tc.want != 0 {
				want = time.Unix(tc.want, 0)
			}
			NewWithT(t).Expect(s.first("prod", at("repo", "b"))).To(Equal(want))
			NewWithT(t).Expect(s.first("other", at("repo", "b"))).To(BeZero())
		})
	}
}

func parse(second string) int64 {
	d, err := time.ParseDuration(second + "s")
	if err != nil {
		panic(err)
	}
	return int64(d / time.Second)
}
