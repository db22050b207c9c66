// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/argoproj/notifications-engine/pkg/subscriptions"
	yaml3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	// mostRecipients is how many recipients an ApplicationSet may have. Each may be told by every trigger.
	mostRecipients = 50
	// mostLists is how many bytes the annotations that are lists may have together: they are YAML, which is dear. One
	// annotation has no more than argocd.MostText. mostRecipient is how many bytes the name of a service or of a recipient
	// may have.
	mostLists, mostRecipient = argocd.MostText, 256
	// mostWrong is how many mistakes in the subscriptions of one ApplicationSet are said, and how many names are in a text.
	mostWrong = 5

	// The annotations of the engine: pkg/subscriptions/annotations.go.
	subscribePrefix     = "notifications.argoproj.io/subscribe."
	subscriptionsPrefix = "notifications.argoproj.io/subscriptions"
)

// subscribed are who is told of one ApplicationSet, as the engine reads it (GetDestinations and GetGlobalDestinations).
// Whoever may write an ApplicationSet writes the annotations, so reading one ends at its bound: what comes after costs
// nothing. Which recipients count is the same at each reading: first those of the ConfigMap, then those of the
// annotations, by name.
type subscribed struct {
	settings *settings
	// to are the recipients by trigger, and who are all of them. told says which are in to.
	to   services.Destinations
	who  map[services.Destination]bool
	told map[subscription]bool
	// wrong is what cannot be read, and unknown are triggers that do not exist.
	wrong   []error
	unknown []string
	// lists are how many bytes of lists were read.
	lists int
}

type subscription struct {
	trigger string
	to      services.Destination
}

// subscribed reads who is told of an ApplicationSet.
func (s *settings) subscribed(set *argocd.ApplicationSet) *subscribed {
	r := &subscribed{
		settings: s, to: services.Destinations{}, who: map[services.Destination]bool{}, told: map[subscription]bool{},
	}
	for i := range s.subscriptions {
		if one := &s.subscriptions[i]; one.Selector.Matches(labels.Set(set.Labels)) {
			r.global(one)
		}
	}
	all := set.Subscriptions
	keys := slices.AppendSeq(all.AllUnreadable(), maps.Keys(all.Texts()))
	slices.Sort(keys)
	for _, key := range keys {
		r.annotation(key, all)
	}
	return r
}

// global reads an entry of the ConfigMap.
func (r *subscribed) global(one *subscriptions.DefaultSubscription) {
	names := one.Triggers
	if len(names) == 0 {
		names = r.settings.defaults
	}
	triggers := r.ours(names)
	for _, recipient := range one.Recipients {
		service, name, _ := strings.Cut(recipient, ":")
		name, _, _ = strings.Cut(name, ":")
		if !r.add(ConfigMapName, triggers, services.Destination{Service: service, Recipient: name}) {
			return
		}
	}
}

// annotation reads an annotation. Those of other triggers than ours mean nothing here.
func (r *subscribed) annotation(key string, all argocd.Annotations) {
	unreadable := all.Unreadable(key)
	switch name, one := strings.CutPrefix(key, subscribePrefix); {
	case one:
		r.one(key, name, all)
	case !strings.HasPrefix(key, subscriptionsPrefix):
	case unreadable != "":
		r.mistake(key, errors.New(unreadable))
	default:
		if err := r.many(key, all.Text(key)); err != nil {
			r.mistake(key, fmt.Errorf("it cannot be read: %w", err))
		}
	}
}

// one reads an annotation that names a trigger and a service, or a service alone. Its text are recipients.
func (r *subscribed) one(key, name string, all argocd.Annotations) {
	trigger, service, both := strings.Cut(name, ".")
	if !both {
		trigger, service = "", name
	}
	service, _, _ = strings.Cut(service, ".")
	triggers, text := r.ours(r.defaults(trigger, service)), all.Text(key)
	switch unreadable := all.Unreadable(key); {
	case len(triggers) == 0:
		return
	case unreadable != "":
		r.mistake(key, errors.New(unreadable))
		return
	case text == "":
		r.add(key, triggers, services.Destination{Service: service})
		return
	}
	for recipient := range strings.SplitSeq(text, ";") {
		to := services.Destination{Service: service, Recipient: strings.TrimSpace(recipient)}
		if to.Recipient != "" && !r.add(key, triggers, to) {
			return
		}
	}
}

// errLists says that lists are too long together.
var errLists = fmt.Errorf("all lists of subscriptions together have more than %d bytes", mostLists)

// errReferences says that an annotation has a part that stands for another: a short text may stand for a very long one.
var errReferences = fmt.Errorf("it has references (*)")

// many reads an annotation that is a list of subscriptions.
func (r *subscribed) many(key, text string) error {
	if r.lists += len(text); r.lists > mostLists {
		return errLists
	}
	var node yaml3.Node
	if err := yaml3.Unmarshal([]byte(text), &node); err != nil {
		return err
	}
	if refers(&node) {
		return errReferences
	}
	var all []subscriptions.Subscription
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return err
	}
	for i := range all {
		named := r.ours(all[i].Trigger)
		byDefault := len(all[i].Trigger) == 0 || slices.Contains(all[i].Trigger, "")
		for _, to := range all[i].Destinations {
			triggers := named
			if byDefault {
				triggers = slices.Concat(named, r.ours(r.defaults("", to.Service)))
			}
			for _, name := range to.Recipients {
				if !r.add(key, triggers, services.Destination{Service: to.Service, Recipient: name}) {
					return nil
				}
			}
		}
	}
	return nil
}

func refers(node *yaml3.Node) bool {
	return node.Kind == yaml3.AliasNode || slices.ContainsFunc(node.Content, refers)
}

// defaults are the triggers of a service, if none is named.
func (r *subscribed) defaults(trigger, service string) []string {
	if trigger != "" {
		return []string{trigger}
	}
	if own, ok := r.settings.serviceDefaults[service]; ok {
		return own
	}
	return r.settings.defaults
}

// ours are those of some triggers that are about rollouts and exist, each once.
func (r *subscribed) ours(names []string) (all []string) {
	for _, name := range names {
		switch _, exists := r.settings.triggers[name]; {
		case !strings.HasPrefix(name, Prefix) || exists && slices.Contains(all, name):
		case exists:
			all = append(all, name)
		case len(r.unknown) < mostWrong && !slices.Contains(r.unknown, name):
			r.unknown = append(r.unknown, name)
		}
	}
	return all
}

// add has a recipient told by triggers. It returns false if the ApplicationSet has too many.
func (r *subscribed) add(where string, triggers []string, to services.Destination) bool {
	switch {
	case len(triggers) == 0:
		return true
	case len(to.Service) > mostRecipient || len(to.Recipient) > mostRecipient:
		r.mistake(where, fmt.Errorf("a recipient with more than %d bytes is not told", mostRecipient))
		return true
	case !r.who[to] && len(r.who) == mostRecipients:
		r.mistake(where, fmt.Errorf("an ApplicationSet has at most %d recipients: the others are not told", mostRecipients))
		return false
	}
	r.who[to] = true
	for _, trigger := range triggers {
		if s := (subscription{trigger, to}); !r.told[s] {
			r.told[s] = true
			r.to[trigger] = append(r.to[trigger], to)
		}
	}
	return true
}

// mistake remembers what is wrong with an annotation or with the ConfigMap, once.
func (r *subscribed) mistake(where string, err error) {
	err = fmt.Errorf("%s: %w", where, err)
	same := func(other error) bool { return other.Error() == err.Error() }
	if len(r.wrong) < mostWrong && !slices.ContainsFunc(r.wrong, same) {
		r.wrong = append(r.wrong, err)
	}
}

// quoted is a text of some names of users.
func quoted(names []string) string {
	var all []string
	for _, name := range names[:min(len(names), mostWrong)] {
		all = append(all, fmt.Sprintf("%q", policy.ClientText(name)))
	}
	if len(names) > mostWrong {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}
