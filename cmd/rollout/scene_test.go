// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// now is when everything is looked at.
var now = time.Date(2026, 11, 22, 20, 31, 7, 0, time.UTC)

// environments are the steps.
var environments = []string{"dev", "qa", "prod"}

// scene is an ApplicationSet and its Applications, in one line: STEP:NAME=HEALTH/SYNC@COMMIT, where COMMIT is new or
// old. After that may come :STATUS@COMMIT, the record of the ApplicationSet controller, and +op for a running operation
// or +failed for one that has failed. A NAME may stand for several: prod-1..12.
func scene(text string) (*argo.ApplicationSet, []*argo.Application) {
	set := guestbook.Set("argocd")
	set.UID = "set"
	for i := range set.Spec.Strategy.RollingSync.Steps {
		step := &set.Spec.Strategy.RollingSync.Steps[i]
		step.MatchExpressions = []argo.ApplicationMatchExpression{
			{Key: "env", Operator: "In", Values: []string{environments[i]}},
		}
	}
	most := intstr.FromString("25%")
	set.Spec.Strategy.RollingSync.Steps[2].MaxUpdate = &most
	var apps []*argo.Application
	for _, word := range strings.Fields(text) {
		step, rest, _ := strings.Cut(word, ":")
		name, state, _ := strings.Cut(rest, "=")
		number, err := strconv.Atoi(step)
		if err != nil {
			panic(err)
		}
		for _, one := range expand(name) {
			app := application(set, one, number)
			guestbook.Put(set, app, number, state, now)
			apps = append(apps, app)
		}
	}
	return set, apps
}

// expand writes "prod-1..3" as "prod-1", "prod-2" and "prod-3", with as many digits as the last one has.
func expand(name string) []string {
	first, last, several := strings.Cut(name, "..")
	if !several {
		return []string{name}
	}
	dash := strings.LastIndex(first, "-")
	from, _ := strconv.Atoi(first[dash+1:])
	to, _ := strconv.Atoi(last)
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("%s-%0*d", first[:dash], len(last), i))
	}
	return all
}

func application(set *argo.ApplicationSet, name string, step int) *argo.Application {
	app := guestbook.Application(set, "dev")
	app.Name, app.UID, app.ResourceVersion = "guestbook-"+name, types.UID(name), "1"
	app.Labels = map[string]string{"env": "none"}
	if step > 0 {
		app.Labels["env"] = environments[step-1]
	}
	return app
}

// judged is the Rollout of a scene.
func judged(set *argo.ApplicationSet, apps []*argo.Application, windows ...judge.SyncWindows) *rollout.Rollout {
	known := rollout.NewSnapshot()
	known.Add(set, apps...)
	by := knownBy(known)
	for _, w := range windows {
		by.Windows = w
	}
	return rollout.Judge(webhook.NewPreview(config, by, nil).Outlook(known.Sets()[0]))
}

// config is how the tests of this room have stepgate installed.
var config = settings.Config{Hold: true, Release: true, ServerAccounts: []string{"argocd-server"}}

func preview(known *rollout.Snapshot) *webhook.Preview {
	return webhook.NewPreview(config, knownBy(known), nil)
}

// knownBy is what a Preview knows that has read a Snapshot now.
func knownBy(known *rollout.Snapshot) judge.Dependencies {
	return judge.Dependencies{
		Live: rollout.NewEvaluator(known), Known: known, Histories: known, Clock: clocktesting.NewFakePassiveClock(now),
	}
}
