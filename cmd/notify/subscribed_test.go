// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/argoproj/notifications-engine/pkg/subscriptions"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	toEnd  = subscribePrefix + "stepgate-on-rollout-complete."
	ofEnd  = "stepgate-on-rollout-complete"
	toSlow = subscribePrefix + "stepgate-on-step-waiting."
	// mostSubscription is the longest annotation.
	mostSubscription = argocd.MostText
)

// names are so many names of recipients.
func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%x", i))
	}
	return all
}

// configured are settings with services that have triggers of their own.
func configured() *settings {
	return newSettings(&corev1.ConfigMap{Data: map[string]string{
		"defaultTriggers":       "[on-deployed, stepgate-on-approval-needed]",
		"defaultTriggers.email": "[stepgate-on-rollout-complete, stepgate-on-step-waiting]",
		SubscriptionsKey:        "- {recipients: ['slack:all'], triggers: [stepgate-on-rollout-complete], selector: team=web}",
	}}, &corev1.Secret{})
}

func subscribedBy(annotations map[string]string) *subscribed {
	return configured().subscribed(annotated(annotations))
}

func annotated(annotations map[string]string) *argocd.ApplicationSet {
	return argocd.NewApplicationSet(&argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
}

// long are the longest texts that an annotation may have, by shape: what they could cost, and what is said of them.
var long = map[string]struct {
	key, text string
	want      int
	wrong     string
}{
	"many recipients":        {toEnd + "people", list(";", names(4096)), 50, "an ApplicationSet has at most 50 recipients: the others are not told"},
	"the same one":           {toEnd + "people", list(";", slices.Repeat([]string{"a"}, 4096)), 1, ""},
	"none":                   {toEnd + "people", strings.Repeat(";", mostSubscription), 0, ""},
	"one with a long name":   {toEnd + "people", strings.Repeat("a", mostSubscription), 0, "a recipient with more than 256 bytes is not told"},
	"one beside a long one":  {toEnd + "people", strings.Repeat("a", 300) + "; b", 1, "a recipient with more than 256 bytes is not told"},
	"too long":               {toEnd + "people", strings.Repeat("a;", mostSubscription), 0, "it has 16384 bytes, more than 8192"},
	"too long for others":    {subscribePrefix + "on-deployed.people", strings.Repeat("a;", mostSubscription), 0, ""},
	"many recipients of all": {subscriptionsPrefix, "[{trigger: [" + ofEnd + "], destinations: [{service: people, recipients: [" + list(",", names(1600)) + "]}]}]", 50, "at most 50 recipients"},
	"many destinations":      {subscriptionsPrefix, "[{trigger: [" + ofEnd + "], destinations: [" + list(",", slices.Repeat([]string{"{service: a, recipients: [b]}"}, 260)) + "]}]", 1, ""},
	"many triggers and destinations": {subscriptionsPrefix, "[{trigger: [" + list(",", slices.Repeat([]string{ofEnd}, 130)) +
		"], destinations: [" + list(",", slices.Repeat([]string{"{service: a, recipients: [b]}"}, 130)) + "]}]", 1, ""},
	"the default trigger, often": {subscriptionsPrefix, "[{trigger: [" + list(",", slices.Repeat([]string{"''"}, 1300)) +
		"], destinations: [" + list(",", slices.Repeat([]string{"{service: email, recipients: [b]}"}, 110)) + "]}]", 1, ""},
	"many subscriptions": {subscriptionsPrefix, "[" + list(",", slices.Repeat([]string{"{destinations: [{recipients: [b]}]}"}, 220)) + "]", 1, ""},
	"references": {subscriptionsPrefix, "- trigger: &a [" + list(",", slices.Repeat([]string{ofEnd}, 100)) +
		"]\n  destinations: &b [{service: a, recipients: &c [" + list(",", names(500)) + "]}]\n" +
		strings.Repeat("- {trigger: *a, destinations: *b}\n", 80), 0, "it has references (*)"},
	"deep":           {subscriptionsPrefix, strings.Repeat("[", mostSubscription/2) + strings.Repeat("]", mostSubscription/2), 0, "it cannot be read"},
	"deep in blocks": {subscriptionsPrefix, strings.Repeat("- ", mostSubscription/2), 0, "it cannot be read"},
	"open":           {subscriptionsPrefix, strings.Repeat("{", mostSubscription), 0, "it cannot be read"},
	"comments":       {subscriptionsPrefix, strings.Repeat("#\n", mostSubscription/2), 0, ""},
	"keys":           {subscriptionsPrefix, "[" + strings.Repeat("{? a: b},", mostSubscription/9-1) + "]", 0, ""},
	"no list":        {subscriptionsPrefix, "a", 0, "it cannot be read"},
	"too long a list": {subscriptionsPrefix, strings.Repeat("#", mostSubscription+1), 0,
		"it has 8193 bytes, more than 8192"},
}

// list joins as many texts as an annotation has room for, with what is around it.
func list(separator string, all []string) string {
	n, size := 0, 0
	for ; n < len(all) && size+len(all[n])+1 < mostSubscription-200; n++ {
		size += len(all[n]) + 1
	}
	return strings.Join(all[:n], separator)
}

// TestReadingEndsAtItsBound: what is beyond is said, and the rest counts.
func TestReadingEndsAtItsBound(t *testing.T) {
	for name, tc := range long {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			key := tc.key
			r := subscribedBy(map[string]string{key: tc.text, toEnd + "zzz": "last"})
			last := services.Destination{Service: "zzz", Recipient: "last"}
			most := mostRecipients
			if tc.want == most { // no room is left
				g.Expect(r.who).To(HaveLen(most))
			} else {
				g.Expect(r.to[ofEnd]).To(ContainElement(last), "nothing else is lost")
				g.Expect(r.who).To(HaveLen(tc.want + 1))
			}
			again := subscribedBy(map[string]string{key: tc.text, toEnd + "zzz": "last"})
			g.Expect(again.to).To(Equal(r.to))
			if tc.wrong == "" {
				g.Expect(r.wrong).To(BeEmpty())
				return
			}
			g.Expect(r.wrong).NotTo(BeEmpty())
			g.Expect(r.wrong[0]).To(MatchError(And(HavePrefix(key+": "), ContainSubstring(tc.wrong))))
		})
	}
}

// TestManyAnnotations with something wrong in each: few of them are named.
func TestManyAnnotations(t *testing.T) {
	g := NewWithT(t)
	all := map[string]string{}
	for _, name := range names(25) {
		all[subscribePrefix+"stepgate-"+name+".people"] = "a"
		all[toEnd+name] = strings.Repeat("b", 300)
	}
	r := subscribedBy(all)
	g.Expect(r.to).To(BeEmpty())
	g.Expect(r.wrong).To(HaveLen(mostWrong))
	g.Expect(r.unknown).To(Equal([]string{"stepgate-0", "stepgate-1", "stepgate-10", "stepgate-11", "stepgate-12"}))
}

// TestTheFirstFiftyAreToldOfEverything, and those of the ConfigMap come first.
func TestTheFirstFiftyAreToldOfEverything(t *testing.T) {
	g := NewWithT(t)
	many := strings.Join(names(60), ";")
	r := configured().subscribed(argocd.NewApplicationSet(&argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"team": "web"}, Annotations: map[string]string{toEnd + "people": many, toSlow + "people": many},
	}}))
	g.Expect(r.to[ofEnd][0]).To(Equal(services.Destination{Service: "slack", Recipient: "all"}))
	g.Expect(r.to[ofEnd]).To(HaveLen(mostRecipients))
	g.Expect(r.to["stepgate-on-step-waiting"]).To(Equal(r.to[ofEnd][1:]))
	g.Expect(r.wrong).To(HaveLen(2), "one for each annotation")
}

// engines are who the engine would tell by an annotation: those of our triggers that exist, each once.
func engines(s *settings, annotations map[string]string) map[string][]services.Destination {
	all := subscriptions.NewAnnotations(annotations).GetDestinations(s.defaults, s.serviceDefaults)
	maps.DeleteFunc(all, func(name string, _ []services.Destination) bool {
		_, exists := s.triggers[name]
		return !exists
	})
	return all.Dedup()
}

// TestSubscriptionsAreReadAsTheEngineReadsThem.
func TestSubscriptionsAreReadAsTheEngineReadsThem(t *testing.T) {
	logrus.SetOutput(io.Discard)
	s := configured()
	for name, tc := range map[string]struct {
		key, text string
		want      int
	}{
		"nobody is named":              {toEnd + "people", "", 1},
		"somebody":                     {toEnd + "slack", "releases", 1},
		"some":                         {toEnd + "slack", " a; b;;a ; c d", 3},
		"a trigger of Argo CD":         {subscribePrefix + "on-deployed.slack", "a", 0},
		"a trigger that there is not":  {subscribePrefix + "stepgate-on-monday.slack", "a", 0},
		"a service without a trigger":  {subscribePrefix + "slack", "a", 1},
		"one that has its own":         {subscribePrefix + "email", "a;b", 2},
		"more than a service":          {toEnd + "slack.x.y", "a", 1},
		"no service":                   {toEnd, "a", 1},
		"no trigger":                   {subscribePrefix + ".slack", "a", 1},
		"a list":                       {subscriptionsPrefix, "- {trigger: [" + ofEnd + ", on-deployed], destinations: [{service: slack, recipients: [a, 1, 1.50, b]}]}", 4},
		"a list of other cases":        {subscriptionsPrefix, "- {Trigger: [" + ofEnd + "], Destinations: [{Service: slack, RECIPIENTS: [a]}]}", 1},
		"a list without triggers":      {subscriptionsPrefix + ".x", "- destinations: [{service: email, recipients: [a]}, {service: slack, recipients: [b]}]", 2},
		"a list without recipients":    {subscriptionsPrefix, "- {trigger: [" + ofEnd + "], destinations: [{service: slack}]}", 0},
		"a list without destinations":  {subscriptionsPrefix, "- {trigger: [" + ofEnd + "]}", 0},
		"a list with an empty trigger": {subscriptionsPrefix, "- {trigger: ['', " + ofEnd + "], destinations: [{service: email, recipients: [a, '']}]}", 2},
		"something else":               {"notifications.argoproj.io/other", "a", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := map[string]string{tc.key: tc.text}
			r := s.subscribed(annotated(all))
			g.Expect(map[string][]services.Destination(r.to)).To(Equal(engines(s, all)))
			g.Expect(r.who).To(HaveLen(tc.want))
		})
	}
}

// FuzzSubscribed: no annotation has more recipients than an ApplicationSet may have, and one that names few of them says
// what it says to the engine.
func FuzzSubscribed(f *testing.F) {
	logrus.SetOutput(io.Discard)
	for _, tc := range long {
		f.Add(tc.key, tc.text)
	}
	f.Add(toEnd+"slack", " a; b;;a ; c d")
	f.Add(subscribePrefix+"email", "")
	s := configured()
	f.Fuzz(func(t *testing.T, key, text string) {
		g := NewWithT(t)
		all := map[string]string{key: text}
		if len(text) > mostSubscription || len(key) > 300 {
			return // the door does not let it in
		}
		r := s.subscribed(annotated(all))
		g.Expect(len(r.who)).To(BeNumerically("<=", mostRecipients))
		for _, err := range r.wrong {
			g.Expect(len(err.Error())).To(BeNumerically("<=", len(key)+2*mostSubscription))
		}
		if strings.HasPrefix(key, subscribePrefix) && len(r.wrong) == 0 {
			g.Expect(map[string][]services.Destination(r.to)).To(Equal(engines(s, all)))
		}
	})
}

// processorTime is how long this process has computed. Other processes do not make it longer.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it fails for another "who" only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// mostLook is the processor time that a look at one ApplicationSet may cost, whatever its annotations say.
const mostLook = 50 * time.Millisecond

// TestNoAnnotationIsDear looks at an ApplicationSet with each of the longest ones, and with as many as there may be. A
// busy machine is slow once, and not each time.
func TestNoAnnotationIsDear(t *testing.T) {
	all := map[string]map[string]string{"as many as there may be": {}, "as many long ones": {}}
	for name, tc := range long {
		all[name] = map[string]string{tc.key: tc.text}
	}
	for i := range 256 << 10 / 100 {
		all["as many as there may be"][fmt.Sprintf("%sx%030d", toEnd, i)] = ""
	}
	for i := range 31 {
		all["as many long ones"][fmt.Sprintf("%s.%d", subscriptionsPrefix, i)] = long["many destinations"].text
	}
	for name, annotations := range all {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.set.Annotations = annotations
			w.is(complete)
			n := w.new()
			w.look(n) // reads the settings
			took := time.Hour
			for range 5 {
				n.Changed(nameOf(w))
				began := processorTime()
				n.look(w.ctx())
				took = min(took, processorTime()-began)
				w.settle(n)
			}
			t.Log(took)
			w.Expect(took).To(BeNumerically("<", mostLook))
			w.Expect(len(w.posted)).To(BeNumerically("<=", mostWrong+2))
		})
	}
}

// TestManyRecipientsAreToldOnce each, a few at a time. Who is one too many is told nothing, and that is said once.
func TestManyRecipientsAreToldOnce(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations = map[string]string{toEnd + "people": strings.Join(names(1000), ";")}
	w.config.Data["template.stepgate-rollout-complete"] = "message: '{{.recipient}}'"
	w.is(complete)
	n := w.new()
	var told []string
	for range 10 {
		w.look(n)
		sent := w.take()
		w.Expect(len(sent)).To(BeNumerically("<=", mostAtOnce))
		told = append(told, sent...)
	}
	w.Expect(told).To(ConsistOf(names(mostRecipients)))
	w.look(w.new())
	w.Expect(w.take()).To(BeEmpty(), "once, across a restart")
	w.Expect(w.posted).To(HaveEach(Equal("argocd/guestbook stepgate could not send a notification: " + toEnd +
		"people: an ApplicationSet has at most 50 recipients: the others are not told")))
	w.Expect(w.posted).To(HaveLen(2), "once in an hour, by each process")
	w.Expect(w.log()).To(ContainSubstring(`"result"="subscription"`))
}

// TestOnlyWhatHasRoomIsWritten: the template is not executed for the others.
func TestOnlyWhatHasRoomIsWritten(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations = map[string]string{toEnd + "people": strings.Join(names(40), ";")}
	w.config.Data["template.stepgate-rollout-complete"] = "message: '{{ index .rollout.steps 99 }}'"
	w.is(complete)
	n := w.new()
	w.look(n)
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete people bad-template": mostAtOnce}))
	w.Expect(n.post.queued).To(HaveLen(1))
}
