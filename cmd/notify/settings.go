// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/api"
	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/argoproj/notifications-engine/pkg/subscriptions"
	"github.com/argoproj/notifications-engine/pkg/templates"
	"github.com/argoproj/notifications-engine/pkg/triggers"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/notify/catalog"
)

const (
	// ConfigMapName is the ConfigMap in which Argo CD keeps the settings of its notifications.
	ConfigMapName = "argocd-notifications-cm"
	// SecretName is the Secret that goes with it.
	SecretName = "argocd-notifications-secret" //nolint:gosec // it is a name
	// Prefix begins the names of all triggers about rollouts. Those of Argo CD are about Applications, and their
	// subscriptions mean nothing here.
	Prefix = "stepgate-"
	// SubscriptionsKey is a key of the ConfigMap, with entries as Argo CD's own key "subscriptions" has. Argo CD does not
	// read it: it would look for our triggers for each Application.
	SubscriptionsKey = "stepgate.subscriptions"

	argoSubscriptionsKey = "subscriptions"
)

// settings are what the ConfigMap and the Secret of Argo CD's notifications say, beside the shipped catalog. A part that
// cannot be read is left out, and is no reason to leave others out.
type settings struct {
	services        map[string]services.NotificationService
	triggers        map[string]trigger
	templates       map[string]services.Notification
	formatter       templates.Service
	subscriptions   subscriptions.DefaultSubscriptions
	defaults        []string
	serviceDefaults map[string][]string
	context         map[string]string
	// problems are the parts that cannot be read.
	problems []error
}

// trigger is one that can be run.
type trigger struct {
	conditions []triggers.Condition
	service    triggers.Service
	// when and oncePer are the expressions of the conditions. The engine runs them as well, and hides their errors.
	when, oncePer []*vm.Program
}

// newSettings reads the settings. The ConfigMap and the Secret may be empty. What the ConfigMap says replaces the
// catalog.
func newSettings(config *corev1.ConfigMap, secret *corev1.Secret) *settings {
	s := &settings{
		services: map[string]services.NotificationService{}, triggers: map[string]trigger{},
		templates: map[string]services.Notification{}, serviceDefaults: map[string][]string{}, context: map[string]string{},
	}
	data, err := catalog.Data()
	if err != nil {
		s.problem("catalog", err)
	}
	maps.Copy(data, config.Data)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if err := s.add(key, data[key], secret); err != nil {
			s.problem(ConfigMapName+" "+key, err)
		}
	}
	if s.formatter, err = templates.NewService(s.templates); err != nil { // each was tried alone
		s.problem("templates", err)
	}
	return s
}

func (s *settings) problem(where string, err error) {
	s.problems = append(s.problems, fmt.Errorf("%s: %w", where, err))
}

// add reads one key of the ConfigMap. Keys that mean nothing here are left out.
func (s *settings) add(key, value string, secret *corev1.Secret) error {
	name := key
	rest, isService := strings.CutPrefix(key, "service.")
	if kind, called, _ := strings.Cut(rest, "."); isService && kind == "webhook" {
		service, err := newWebhook(key, value, secret)
		if err == nil {
			s.services[cmp.Or(called, kind)] = service
		}
		return err
	}
	switch key {
	case "context":
		return yaml.Unmarshal([]byte(value), &s.context)
	case SubscriptionsKey:
		name = argoSubscriptionsKey
	}
	one, err := api.ParseConfig(&corev1.ConfigMap{Data: map[string]string{name: value}}, secret)
	if err != nil {
		return err
	}
	s.subscriptions = append(s.subscriptions, one.Subscriptions...)
	s.defaults = append(s.defaults, one.DefaultTriggers...)
	maps.Copy(s.serviceDefaults, one.ServiceDefaultTriggers)
	for name, conditions := range one.Triggers {
		if strings.HasPrefix(name, Prefix) {
			if s.triggers[name], err = newTrigger(name, conditions); err != nil {
				delete(s.triggers, name)
				return err
			}
		}
	}
	if _, err = templates.NewService(one.Templates); err != nil {
		return err
	}
	maps.Copy(s.templates, one.Templates)
	for name, factory := range one.Services {
		if s.services[name], err = newService(factory); err != nil {
			delete(s.services, name)
			return err
		}
	}
	return nil
}

func newTrigger(name string, conditions []triggers.Condition) (t trigger, err error) {
	t.conditions = conditions
	for _, c := range conditions {
		when, err := expr.Compile(cmp.Or(c.When, "false"))
		if err != nil {
			return t, err
		}
		oncePer, err := expr.Compile(cmp.Or(c.OncePer, `""`))
		if err != nil {
			return t, err
		}
		t.when, t.oncePer = append(t.when, when), append(t.oncePer, oncePer)
	}
	t.service, err = triggers.NewService(map[string][]triggers.Condition{name: conditions})
	return t, err
}

// newService makes a service. Some of Argo CD's do not expect all that a ConfigMap may say.
func newService(factory api.ServiceFactory) (service services.NotificationService, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return factory()
}

// run says which conditions of a trigger are met.
func (t *trigger) run(name string, vars map[string]any) ([]triggers.ConditionResult, error) {
	for i := range t.when {
		met, err := expr.Run(t.when[i], vars)
		if err != nil {
			return nil, fmt.Errorf("when: %w", err)
		}
		is, ok := met.(bool)
		if !ok {
			return nil, fmt.Errorf("when: %q is neither true nor false", t.conditions[i].When)
		}
		if !is {
			continue
		}
		if _, err := expr.Run(t.oncePer[i], vars); err != nil {
			return nil, fmt.Errorf("oncePer: %w", err)
		}
	}
	return t.service.Run(name, vars)
}

// format writes a message by templates.
func (s *settings) format(vars map[string]any, names []string) (*services.Notification, error) {
	if len(names) == 0 {
		return nil, errors.New("the trigger names no template")
	}
	return s.formatter.FormatNotification(vars, names...)
}
