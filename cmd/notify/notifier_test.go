// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	gate "github.com/stepgate/stepgate/webhook/settings"
)

const (
	// turn is a rollout whose step 3 may start, as far as the order goes.
	turn     = before + "prod-1=Healthy/OutOfSync@new:Pending prod-2=Healthy/OutOfSync@new:Pending"
	complete = before + "prod-1=Healthy/Synced@new:Healthy prod-2=Healthy/Synced@new:Healthy"
	broken   = "dev=Degraded/Synced@new:Progressing" + others
	atWork   = "dev=Progressing/Synced@new:Progressing" + others

	before = "dev=Healthy/Synced@new:Healthy qa=Healthy/Synced@new:Healthy "
	others = " qa=Healthy/OutOfSync@new:Waiting prod-1=Healthy/OutOfSync@new:Waiting"
)

// notApproved is what all that tells people about it says.
const notApproved = "step 3 of ApplicationSet argocd/guestbook is not approved (NotApproved: 3@78de5d3c1b0a9f8e7d6c5b4a39281706f5e4d3c2)"

const needsApproval = "step 3 of argocd/guestbook needs an approval (at 78de5d3): " + notApproved + "\n" +
	"stepgate approve guestbook -n argocd --step 3"

// told are the messages for each trigger.
var told = map[string]struct {
	is          string
	annotations map[string]string
	// after is for how long it has been so.
	after time.Duration
	want  []string
}{
	"a step waits for half an hour": {
		is: atWork, after: 26 * time.Minute,
		want: []string{"step 2 of argocd/guestbook has waited for 30 minutes (at 78de5d3): guestbook-dev (NotHealthy: Progressing). Next: wait until guestbook-dev is Healthy\n" +
			"stepgate explain guestbook-qa -n argocd"},
	},
	"a step that has waited for less": {is: atWork, after: 25 * time.Minute},
	"nobody starts what may start": {
		is: turn, after: 30 * time.Minute,
		want: []string{"step 3 of argocd/guestbook has waited for 34 minutes (at 78de5d3): guestbook-prod-1 (it may start). Next: wait until Argo CD starts it, or start it: argocd app sync guestbook-prod-1; guestbook-prod-2 (it may start). Next: wait until Argo CD starts it, or start it: argocd app sync guestbook-prod-2\n" +
			"stepgate explain guestbook-prod-1 -n argocd"},
	},
	"an approval is needed": {
		is: turn, annotations: map[string]string{"stepgate.io/approve": "3"}, want: []string{needsApproval},
	},
	"an approval is not needed yet": {
		is: turn, annotations: map[string]string{"stepgate.io/approve": "3", "stepgate.io/soak": "3=8760h"},
	},
	"an approval in audit mode": {
		is: turn, annotations: map[string]string{"stepgate.io/approve": "3", "stepgate.io/mode": "audit"},
	},
	"a failed Application stops the rollout": {
		is: broken,
		want: []string{"step 1 of argocd/guestbook is stopped (at 78de5d3): guestbook-dev (NotHealthy: Degraded). Next: repair what is not Healthy: argocd app get guestbook-dev\n" +
			"stepgate explain guestbook-dev -n argocd"},
	},
	"a failed sync stops the rollout": {
		is: "dev=Healthy/OutOfSync@new:Progressing+failed" + others,
		want: []string{"step 1 of argocd/guestbook is stopped (at 78de5d3): guestbook-dev (OperationFailed: Failed). Next: sync guestbook-dev again: argocd app sync guestbook-dev\n" +
			"stepgate explain guestbook-dev -n argocd"},
	},
	"a failed sync of an older commit": {is: "dev=Degraded/OutOfSync@new:Pending" + others},
	"a new Application":                {is: "dev=Missing/OutOfSync@new:Waiting" + others},
	"too many failures": {
		is: "dev=Healthy/Synced@new:Healthy qa=Healthy/Synced@new:Healthy prod-1=Degraded/Synced@new:Progressing " +
			"prod-2=Healthy/OutOfSync@new:Pending", annotations: map[string]string{"stepgate.io/max-failures": "0"},
		want: []string{"step 3 of argocd/guestbook is stopped (at 78de5d3): step 3 of ApplicationSet argocd/guestbook may not go on: 1 Application of it failed, and 0 may: " +
			"guestbook-prod-1 (TooManyFailures: Degraded). Next: repair them, or deploy another revision; " +
			"guestbook-prod-1 (NotHealthy: Degraded). Next: repair what is not Healthy: argocd app get guestbook-prod-1\nstepgate explain guestbook-prod-2 -n argocd"},
	},
	"a failed Application that is being repaired": {is: strings.Replace(broken, ":Progressing", ":Progressing+op", 1)},
	"everything is done": {
		is: complete,
		want: []string{"the rollout of argocd/guestbook is complete (at 78de5d3): all 4 Applications of 3 steps are done\n" +
			"stepgate get guestbook -n argocd"},
	},
	"everything was done long ago": {is: complete, after: 2 * time.Hour},
}

func TestEachTriggerTells(t *testing.T) {
	for name, tc := range told {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for key, value := range tc.annotations {
				w.set.Annotations[key] = value
			}
			w.is(tc.is)
			w.clock.Step(tc.after)
			n := w.new()
			w.look(n)
			w.Expect(w.take()).To(Equal(tc.want))
			w.look(n)
			w.Expect(w.take()).To(BeEmpty(), "once")
			w.look(w.new())
			w.Expect(w.take()).To(BeEmpty(), "once, across a restart")
			w.Expect(w.posted).To(BeEmpty())
			w.Expect(w.log()).NotTo(ContainSubstring(password))
		})
	}
}

// TestAWaveIsCalledByItsNumber, also wave 0 and one before it.
func TestAWaveIsCalledByItsNumber(t *testing.T) {
	for name, tc := range map[string]struct{ approve, is, wave, want string }{
		"wave 20": {"20", turn, "20", "wave 20 of argocd/guestbook needs an approval (at 78de5d3): wave 20 of ApplicationSet "},
		"wave 0": {
			"0", "dev=Healthy/Synced@new qa=Healthy/OutOfSync@new", "0",
			"wave 0 of argocd/guestbook needs an approval (at 78de5d3): wave 0 of ApplicationSet ",
		},
		"wave -1": {
			"-1", "dev=Healthy/OutOfSync@new", "-1",
			"wave -1 of argocd/guestbook needs an approval (at 78de5d3): wave -1 of ApplicationSet ",
		},
		"a failure": {
			"1", "dev=Healthy/Synced@new qa=Degraded/Synced@new prod-1=Healthy/OutOfSync@new", "",
			"wave 0 of argocd/guestbook is stopped (at 78de5d3): guestbook-qa (NotHealthy: Degraded)",
		},
		"the end": {"1", "dev=Healthy/Synced@new qa=Healthy/Synced@new", "", ": all 2 Applications of 2 waves are done\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.set.Spec.Strategy, w.waves = nil, map[string]string{"dev": "-1", "qa": "0", "prod": "20"}
			w.set.Annotations[argocd.WavesAnnotation], w.set.Annotations["stepgate.io/approve"] = "true", tc.approve
			w.is(tc.is)
			w.look(w.new())
			told := w.take()
			w.Expect(told).To(ConsistOf(ContainSubstring(tc.want)))
			if tc.wave != "" {
				w.Expect(told[0]).To(HaveSuffix("\nstepgate approve guestbook -n argocd --step " + tc.wave))
			}
		})
	}
}

// TestWithoutTheStateAMessageIsSentTwice shows that the state is what keeps a restart from telling again.
func TestWithoutTheStateAMessageIsSentTwice(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	w.look(w.new())
	w.store = &store{}
	w.look(w.new())
	w.Expect(w.take()).To(HaveLen(2))
}

// says is what the objects of all Verifications are known to say.
type says policy.Finding

// Known is judge.Evidence.
func (s says) Known([]gate.Verification) policy.Evidence {
	return func(policy.Verification, string) policy.Finding { return policy.Finding(s) }
}

// Read is judge.Evidence: a Notifier reads nothing.
func (says) Read(context.Context, *gate.Verification, string) (policy.Finding, error) {
	panic("a read")
}

func TestVerification(t *testing.T) {
	const smoke = "jobs.batch/smoke: it has failed"
	for name, tc := range map[string]struct {
		says  policy.Answer
		is    string
		after time.Duration
		want  []string
	}{
		"no evidence yet": {says: policy.NoAnswer, is: turn, want: []string{
			"step 3 of argocd/guestbook waits for its verification (at 78de5d3): step 3 of ApplicationSet argocd/guestbook is not verified (Unverified: " + smoke + "). Next: wait for it, or see why it does not come" +
				"\nstepgate explain guestbook-prod-1 -n argocd",
		}},
		"the evidence says no": {says: policy.No, is: turn, want: []string{
			"step 3 of argocd/guestbook is not verified, and does not go on (at 78de5d3): step 3 of ApplicationSet argocd/guestbook may not deploy this (Unverified: " + smoke + "). Next: deploy another revision, or have it verified again" +
				"\nstepgate explain guestbook-prod-1 -n argocd",
		}},
		"the evidence says yes": {says: policy.Yes, is: turn, want: []string{
			"step 3 of argocd/guestbook is verified (at 78de5d3): verified: jobs.batch/smoke, it has failed" +
				"\nstepgate get guestbook -n argocd",
		}},
		"the evidence said yes long ago": {says: policy.Yes, is: complete, after: 2 * time.Hour},
		"nobody has asked for evidence":  {says: policy.No, is: atWork},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.evidence = says{Answer: tc.says, Detail: "it has failed"}
			if tc.is != atWork {
				w.set.Annotations["stepgate.io/verify"] = "3=jobs.batch/smoke"
			}
			w.is(tc.is)
			w.clock.Step(tc.after)
			n := w.new()
			w.look(n)
			w.look(n)
			w.look(w.new())
			w.Expect(w.take()).To(Equal(tc.want))
		})
	}
}

func TestEachOccurrenceIsToldOnce(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations["stepgate.io/approve"] = "3"
	n := w.new()
	old := strings.ReplaceAll(turn, "new", "old")
	w.is(old)
	w.look(n)
	w.Expect(w.take()).To(HaveLen(1))
	// A commit lands: prod-1 is compared with it first, and prod-2 a moment later.
	w.is(strings.ReplaceAll(turn, "prod-2=Healthy/OutOfSync@new", "prod-2=Healthy/OutOfSync@old"))
	w.look(n)
	w.Expect(w.take()).To(Equal([]string{needsApproval}))
	w.is(turn)
	w.look(n)
	w.is(old)
	w.look(n)
	w.Expect(w.take()).To(BeEmpty(), "both were told")
}

// TestTwoReplicasTellOnce has two look at the same time: both find that nobody has been told.
func TestTwoReplicasTellOnce(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	a, b := w.new(), w.new()
	first := true
	w.before = func() error {
		if first {
			first = false
			b.look(w.ctx())
		}
		return nil
	}
	w.look(a)
	w.settle(b)
	w.Expect(w.take()).To(HaveLen(1))
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete people sent": 1}))
}

func TestAServerThatFailsIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	w.fail = true
	n := w.new()
	w.look(n)
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete people failed": 1}))
	w.Expect(w.data).To(BeEmpty(), "the note is taken back")
	w.Expect(w.posted).To(HaveLen(1))
	w.Expect(w.posted[0]).To(MatchRegexp(`^argocd/guestbook stepgate could not send a notification: service "people": GET http://127.0.0.1:\d+/\*\*\* the server answers 500 Internal Server Error: $`))
	w.Expect(w.log()).To(ContainSubstring(`"trigger"="stepgate-on-rollout-complete" "service"="people"`))
	w.Expect(w.log()).NotTo(ContainSubstring("/hook"), "many services have their secret in the path")
	w.look(n)
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete people failed": 1}), "not at once")

	w.mu.Lock()
	w.fail = false
	w.mu.Unlock()
	w.clock.Step(firstWait)
	w.look(n)
	w.look(n)
	w.look(w.new())
	w.Expect(w.take()).To(HaveLen(1))
	w.Expect(w.counted).To(HaveKeyWithValue("on-rollout-complete people sent", 1))
	w.Expect(w.posted).To(HaveLen(1), "the same problem is said once")
}

// TestTriesBecomeRarer up to half an hour.
func TestTriesBecomeRarer(t *testing.T) {
	w := newWorld(t)
	n := w.new()
	var waits []time.Duration
	for range 8 {
		waits = append(waits, n.delay(message{"set", "note"}).wait)
	}
	w.Expect(waits).To(Equal([]time.Duration{
		30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		16 * time.Minute, 30 * time.Minute, 30 * time.Minute,
	}))
}

// TestANoteThatCannotBeWrittenSendsNothing, neither then nor when it is not known whether it was written.
func TestANoteThatCannotBeWrittenSendsNothing(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	w.before = func() error { return errors.New("etcdserver: request timed out") }
	n := w.new()
	w.look(n)
	w.Expect(w.take()).To(BeEmpty())
	w.Expect(w.counted).To(Equal(map[string]int{"  state": 1}))
	w.before = nil
	w.look(n)
	w.Expect(w.take()).To(HaveLen(1))
}

// TestANoteThatCannotBeTakenBack is taken back as soon as that is possible.
func TestANoteThatCannotBeTakenBack(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	w.fail = true
	n := w.new()
	n.Changed(nameOf(w))
	n.look(w.ctx())
	w.before = func() error { return errors.New("etcdserver: request timed out") }
	w.settle(n)
	w.Expect(w.data).To(HaveLen(1))
	w.before = nil
	w.look(n)
	w.Expect(w.data).To(BeEmpty())
	w.mu.Lock()
	w.fail = false
	w.mu.Unlock()
	w.clock.Step(firstWait)
	w.look(n)
	w.Expect(w.take()).To(HaveLen(1))
}

func TestAStateThatCannotBeReadSendsNothing(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	w.data, w.version = map[string]string{"set": "{"}, 1
	n := w.new()
	w.look(n)
	w.Expect(w.take()).To(BeEmpty())
	w.Expect(w.counted).To(Equal(map[string]int{"  state": 1}))
	w.Expect(w.log()).To(ContainSubstring("what was sent cannot be read, so nothing is sent; delete the ConfigMap"))
}

// TestWhatIsWrongIsSaid: in the log, in the metric, and in an Event on the ApplicationSet. Nothing else suffers.
func TestWhatIsWrongIsSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		is      func(w *world)
		counted string
		text    string
		// posted says that there is an Event.
		posted bool
		// sent is how many messages are sent all the same.
		sent int
	}{
		"no ConfigMap": {
			is:      func(w *world) { w.config = &corev1.ConfigMap{} },
			counted: "  settings", text: "there is no ConfigMap argocd-notifications-cm: no service is configured", posted: true,
		},
		"a template that fails": {
			is: func(w *world) {
				w.config.Data["template.stepgate-rollout-complete"] = `message: '{{ index .rollout.steps 99 }}'`
			},
			counted: "on-rollout-complete people bad-template", text: "error calling index", posted: true,
		},
		"a template that is none": {
			is:      func(w *world) { w.config.Data["template.stepgate-rollout-complete"] = `message: '{{ .rollout` + "'" },
			counted: "  settings", text: "argocd-notifications-cm template.stepgate-rollout-complete: ", posted: true,
		},
		"YAML that does not parse": {
			is:      func(w *world) { w.config.Data["service.email.by-mail"] = ":\n- [" },
			counted: "  settings", text: "argocd-notifications-cm service.email.by-mail: ", sent: 1,
		},
		"a trigger of Argo CD that does not compile": {
			is:   func(w *world) { w.config.Data["trigger.on-deployed"] = "- when: app.status.(\n  send: [x]" },
			sent: 1,
		},
		"a trigger that does not compile": {
			is: func(w *world) {
				w.config.Data["trigger.stepgate-on-rollout-complete"] = "- when: rollout.(\n  send: [x]"
			},
			counted: "  no-trigger", text: `there is no trigger \"stepgate-on-rollout-complete\"`, posted: true,
		},
		"a trigger that fails": {
			is: func(w *world) {
				w.config.Data["trigger.stepgate-on-rollout-complete"] = "- when: rollout.unknown.key == 1\n  send: [x]"
			},
			counted: "on-rollout-complete  bad-trigger", text: "cannot fetch key from", posted: true,
		},
		"a trigger without a template": {
			is:      func(w *world) { w.config.Data["trigger.stepgate-on-rollout-complete"] = "- when: rollout.complete.is" },
			counted: "on-rollout-complete people bad-template", text: "the trigger names no template", posted: true,
		},
		"an unknown service": {
			is:      func(w *world) { w.subscribe("stepgate-on-rollout-complete", "slack") },
			counted: "on-rollout-complete  no-service", text: `argocd-notifications-cm has no service \"slack\"`, posted: true, sent: 1,
		},
		"an unknown trigger": {
			is:      func(w *world) { w.subscribe("stepgate-on-monday", "people") },
			counted: "  no-trigger", text: `there is no trigger \"stepgate-on-monday\"`, posted: true, sent: 1,
		},
		"a trigger of Argo CD": {is: func(w *world) { w.subscribe("on-deployed", "people") }, sent: 1},
		"a key that the Secret has not": {
			is: func(w *world) {
				w.config.Data["service.webhook.the-other"] = "url: http://127.0.0.1:1/$missing"
				w.subscribe("stepgate-on-rollout-complete", "the-other")
			},
			counted: "on-rollout-complete the-other failed", text: `service \"the-other\"`, posted: true, sent: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.is(w)
			w.is(complete)
			n := w.new()
			w.look(n)
			w.Expect(w.take()).To(HaveLen(tc.sent))
			if tc.counted != "" {
				w.Expect(w.counted).To(HaveKeyWithValue(tc.counted, 1))
				w.Expect(w.log()).To(ContainSubstring(tc.text))
			}
			w.Expect(w.posted).To(HaveLen(map[bool]int{true: 1}[tc.posted]))
			w.Expect(w.log()).NotTo(ContainSubstring(password))
			w.look(n)
			w.Expect(w.posted).To(HaveLen(map[bool]int{true: 1}[tc.posted]), "once in an hour")
		})
	}
}

// TestWhoIsTold is by annotations, and by subscriptions of the ConfigMap that name a trigger of ours.
func TestWhoIsTold(t *testing.T) {
	const entry = "- recipients: [people]\n  triggers: [%s]\n  selector: team=web\n"
	for name, tc := range map[string]struct {
		key, trigger string
		labels       map[string]string
		want         int
	}{
		"our key":             {SubscriptionsKey, "stepgate-on-rollout-complete", map[string]string{"team": "web"}, 1},
		"Argo CD's key":       {"subscriptions", "stepgate-on-rollout-complete", map[string]string{"team": "web"}, 1},
		"another label":       {SubscriptionsKey, "stepgate-on-rollout-complete", map[string]string{"team": "db"}, 0},
		"a trigger of theirs": {"subscriptions", "on-deployed", map[string]string{"team": "web"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.set.Annotations, w.set.Labels = nil, tc.labels
			w.config.Data[tc.key] = strings.ReplaceAll(entry, "%s", tc.trigger)
			w.is(complete)
			w.look(w.new())
			w.Expect(w.take()).To(HaveLen(tc.want))
		})
	}
}

// TestAConditionWithoutOncePer is told again when it has been otherwise in between.
func TestAConditionWithoutOncePer(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations = map[string]string{}
	w.subscribe("stepgate-mine", "people")
	w.config.Data["trigger.stepgate-mine"] = "- when: rollout.phase == 'Complete'\n  send: [mine]"
	w.config.Data["template.mine"] = "message: '{{.appset.name}} for {{.context.team}}'"
	w.config.Data["context"] = "team: web"
	n := w.new()
	for range 2 {
		w.is(complete)
		w.look(n)
		w.look(n)
		w.Expect(w.take()).To(Equal([]string{"guestbook for web"}))
		w.is(atWork)
		w.look(n)
	}
}

// TestTheWebhookStepgateGetsEverything as JSON.
func TestTheWebhookStepgateGetsEverything(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations = map[string]string{"stepgate.io/approve": "3"}
	w.set.Labels = map[string]string{"team": "web"}
	w.subscribe("stepgate-on-approval-needed", "stepgate")
	w.config.Data[service+"stepgate"] = w.config.Data[service+"people"]
	w.is(turn)
	w.look(w.new())
	all := w.take()
	w.Expect(all).To(HaveLen(1))
	var got struct {
		About  string
		Appset struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Rollout map[string]any
	}
	w.Expect(json.Unmarshal([]byte(all[0]), &got)).To(Succeed())
	w.Expect(got.About).To(Equal("approval-needed"))
	w.Expect(got.Appset.Name + got.Appset.Labels["team"]).To(Equal("guestbookweb"))
	w.Expect(got.Rollout).To(HaveKeyWithValue("approval", map[string]any{
		"is": true, "step": 3.0, "stepName": "step 3", "reason": "NotApproved", "since": "2026-11-22T20:26:55Z", "seconds": 252.0,
		"applications": []any{"guestbook-prod-1", "guestbook-prod-2"}, "text": notApproved,
		"command": "stepgate approve guestbook -n argocd --step 3", "key": "3@" + notApproved,
	}))
	w.Expect(got.Rollout["waiting"]).To(HaveLen(2))
	w.Expect(got.Rollout["steps"]).To(Equal([]any{
		map[string]any{"number": 1.0, "name": "step 1", "state": "done", "done": 1.0, "total": 1.0, "conditions": []any{}},
		map[string]any{"number": 2.0, "name": "step 2", "state": "done", "done": 1.0, "total": 1.0, "conditions": []any{}},
		map[string]any{"number": 3.0, "name": "step 3", "state": "held", "done": 0.0, "total": 2.0, "conditions": []any{
			map[string]any{"reason": "NotApproved", "met": false, "text": "NotApproved: 78de5d3"},
		}},
	}))
}

// TestRunLooksAndEnds at once, and when it is told to.
func TestRunLooksAndEnds(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	n := w.new()
	ctx, cancel := contextOf(w)
	ended := make(chan struct{})
	go func() { defer close(ended); n.Run(ctx) }()
	w.Eventually(w.take).Should(HaveLen(1))
	cancel()
	w.Eventually(ended).Should(BeClosed())
}

// TestAPanicIsNoEnd of the process, which serves the webhooks.
func TestAPanicIsNoEnd(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	n := w.new()
	n.judge = func(*argocd.ApplicationSet) (*rollout.Rollout, gate.Settings) { panic("boom") }
	w.look(n)
	w.Expect(w.log()).To(ContainSubstring("panic: boom"))
}

// TestABusyServiceGetsAFewAtATime, and the others in turn.
func TestABusyServiceGetsAFewAtATime(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations = map[string]string{}
	for i := range mostAtOnce + 2 {
		name := "stepgate-" + strings.Repeat("x", i+1)
		w.subscribe(name, "people")
		w.config.Data["trigger."+name] = "- {when: rollout.complete.is, send: [stepgate-rollout-complete]}"
	}
	w.is(complete)
	n := w.new()
	w.look(n)
	w.Expect(w.take()).To(HaveLen(mostAtOnce))
	n.look(w.ctx())
	w.settle(n)
	w.Expect(w.take()).To(HaveLen(2), "although nothing has changed")
}

// TestAServiceThatDoesNotAnswer keeps nobody up, and is counted.
func TestAServiceThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	n := w.new()
	n.Changed(nameOf(w))
	n.look(w.ctx())
	w.clock.Step(sendTime + time.Second)
	n.look(w.ctx())
	n.look(w.ctx())
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete people late": 1}))
	w.settle(n)
	w.Expect(w.take()).To(HaveLen(1))
}

func TestRedact(t *testing.T) {
	g := NewWithT(t)
	r := newRedactor(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string][]byte{
		"token": []byte("abc/def ghi\n"), "short": []byte("ab"), "longer": []byte("abc/def ghi-2"),
	}})
	g.Expect(r.text(`Post "https://hooks.example.com/services/T0/B0": bad abc/def ghi-2 and abc%2Fdef%20ghi, ab stays`)).To(Equal(
		`Post "https://hooks.example.com/***": bad *** and ***, ab stays`))
	g.Expect(r.text("https://user:pass@host:8443?x=1 <y>\n")).To(Equal("https://host:8443/*** <y>?"))
	g.Expect((&redactor{}).text("http://example.com")).To(Equal("http://example.com"))
}

// TestEveryVariableIsDocumented under its name.
func TestEveryVariableIsDocumented(t *testing.T) {
	w := newWorld(t)
	w.is(turn)
	vars := w.new().facts(w.Sets()[0]).vars(nil)
	documented := map[string]bool{}
	for _, v := range Variables() {
		for name := range strings.SplitSeq(v.Name, ", ") {
			documented[name] = true
		}
	}
	for name, value := range vars {
		of, is := value.(map[string]any)
		if !is {
			w.Expect(documented).To(HaveKey(name))
			continue
		}
		for key, value := range of {
			w.Expect(documented).To(HaveKey(name + "." + key))
			if fact, is := value.(map[string]any); is {
				for key := range fact {
					w.Expect(documented).To(HaveKey("." + key))
				}
			}
		}
	}
}

// TestWhatWasWrongIsTriedAtOnce when the settings have changed.
func TestWhatWasWrongIsTriedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	services := w.config.Data
	w.config.Data = map[string]string{}
	n := w.new()
	for range 5 {
		w.look(n)
		w.clock.Step(10 * time.Minute)
	}
	w.Expect(w.take()).To(BeEmpty())
	w.look(n)
	w.config = w.config.DeepCopy()
	w.config.Data, w.config.ResourceVersion = services, "2"
	w.clock.Step(settingsFor)
	n.look(w.ctx())
	w.settle(n)
	w.Expect(w.take()).To(HaveLen(1), "although nothing has changed, and the next try was not due")
}

// TestAMessageThatHasFailedIsLookedAtInTime although nothing has changed.
func TestAMessageThatHasFailedIsLookedAtInTime(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	w.fail = true
	n := w.new()
	w.look(n)
	w.mu.Lock()
	w.fail = false
	w.mu.Unlock()
	w.clock.Step(firstWait)
	n.look(w.ctx())
	w.settle(n)
	w.Expect(w.take()).To(HaveLen(1))
}
