// SPDX-License-Identifier: Apache-2.0

// Package selftest checks through the API server that stepgate denies an early sync.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	selfTestLabel   = "stepgate.io/selftest"
	selfTestPause   = 500 * time.Millisecond
	selfTestCleanup = 10 * time.Second
)

// SelfTest sends an early sync through the API server, and expects stepgate to deny it. It creates an ApplicationSet
// without generators, so Argo CD generates nothing from it. It records in the ApplicationSet's status that an
// Application of step 1 has not been created yet, and sends the sync of an Application of step 2 as a server dry-run.
// The API server stores nothing of that Application, and the selftest deletes the ApplicationSet at the end. The sync
// asks the mutating webhook for a warning, which shows that the API server calls it, too.
type SelfTest struct {
	// Namespace is one that stepgate gates, and Name that of the ApplicationSet.
	Namespace, Name string
	// Timeout is how long the sync is repeated until it is denied.
	Timeout time.Duration
	// Out takes the answer.
	Out io.Writer

	objects  client.Client
	warnings kube.Warnings
}

// DefaultName is the name of the ApplicationSet.
const DefaultName = "stepgate-selftest"

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	t, kubeconfig := &SelfTest{}, ""
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Check with a server dry-run that stepgate denies an early sync",
		Args:  command.NoArgs, Example: "  stepgate selftest --namespace argocd",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.Namespace == "" {
				return command.Usage("--namespace: name a namespace that stepgate gates (the chart's value test.namespace)")
			}
			if t.Name == "" {
				return command.Usage("--name: it cannot be empty")
			}
			config, err := kube.UserConfig(kubeconfig)
			if err != nil {
				return err
			}
			t.Out = cmd.OutOrStdout()
			return t.Run(cmd.Context(), config)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&kubeconfig, "kubeconfig", "",
		"kubeconfig file; if empty, KUBECONFIG, the default one, or else the service account of the Pod")
	f.StringVar(&t.Namespace, "namespace", "", "namespace of the test; stepgate must gate it")
	f.StringVar(&t.Name, "name", DefaultName, "name of the ApplicationSet that the test creates and deletes")
	f.DurationVar(&t.Timeout, "timeout", time.Minute, "how long the test repeats the sync until it is denied")
	return cmd
}

// Run prints the answer to Out. Its error says why the test has not passed.
func (t *SelfTest) Run(ctx context.Context, config *rest.Config) (err error) {
	if t.objects, err = kube.Warned(config, &t.warnings); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	// An earlier run that was killed may have left one behind.
	if err := t.delete(ctx); err != nil {
		return err
	}
	set := t.applicationSet()
	if err := t.objects.Create(ctx, set); err != nil {
		return fmt.Errorf("create ApplicationSet %s/%s: %w", t.Namespace, t.Name, err)
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), selfTestCleanup)
		defer cancel()
		err = errors.Join(err, t.delete(cleanup))
	}()
	var last error // what was wrong with the last sync that the end of the time did not cut off
	for {
		answer, problem := t.try(ctx, set)
		if problem == nil {
			_, err := fmt.Fprintln(t.Out, answer)
			return err
		}
		if last == nil || ctx.Err() == nil {
			last = problem
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not passed within %s: %w", t.Timeout, last)
		case <-time.After(selfTestPause):
		}
	}
}

// try sends the sync once. It returns the answer if it is the expected one.
func (t *SelfTest) try(ctx context.Context, set *argo.ApplicationSet) (string, error) {
	before := set.DeepCopy()
	set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{
		Application: t.Name + "-first", Step: "1", Status: argo.ProgressiveSyncPending, Message: "selftest of stepgate",
		TargetRevisions: []string{},
	}}
	// Argo CD may have removed the status, since it knows no such Application. Write all of it again.
	before.Status.ApplicationStatus = nil
	if err := t.objects.Status().Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return "", fmt.Errorf("write the status of ApplicationSet %s/%s: %w", t.Namespace, t.Name, err)
	}
	t.warnings.Take() // those of the calls before
	err := t.objects.Create(ctx, t.application(set), client.DryRunAll)
	said := t.warnings.Take()
	answer, problem := t.validated(err, strings.Join(said, "; "))
	if problem != nil {
		return answer, problem
	}
	if !slices.Contains(said, webhook.SelfTestWarning) {
		return "", errors.New("the validating webhook answered, but the mutating webhook did not: the API server does not " +
			"call it, or gets no answer within its timeoutSeconds; " +
			"automated syncs of step 2 and later will be refused (NotPinned); see that the MutatingWebhookConfiguration " +
			"exists, selects the same namespaces as the ValidatingWebhookConfiguration, " +
			"and has a caBundle")
	}
	return answer + "; the mutating webhook answered, too", nil
}

// validated says whether an answer of the API server, with its warnings, is the one that the validating webhook has to
// give.
func (t *SelfTest) validated(err error, said string) (answer string, problem error) {
	expected := fmt.Sprintf("step 2 of ApplicationSet %s/%s", t.Namespace, t.Name)
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), expected):
		return "passed: the API server answered: " + err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("the sync was not refused by stepgate: %w", err)
	case strings.Contains(said, "stepgate (audit mode)") && strings.Contains(said, expected):
		return "passed: stepgate is in audit mode; the API server warned: " + said, nil
	}
	return "", fmt.Errorf("the sync was admitted: the API server does not call stepgate for namespace %s, or is not "+
		"answered (failurePolicy Ignore); see that the Pods are ready and that the namespace is one of "+
		"argocd.applicationNamespaces and has no label stepgate.io/ignore=true", t.Namespace)
}

func (t *SelfTest) delete(ctx context.Context) error {
	var set argo.ApplicationSet
	err := t.objects.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, &set)
	if err == nil && set.Labels[selfTestLabel] == "" {
		return fmt.Errorf("ApplicationSet %s/%s exists and is not one of a selftest: choose another --name", t.Namespace,
			t.Name)
	}
	if err == nil {
		err = t.objects.Delete(ctx, &set, client.Preconditions{UID: &set.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ApplicationSet %s/%s: %w", t.Namespace, t.Name, err)
	}
	return nil
}

func (t *SelfTest) applicationSet() *argo.ApplicationSet {
	step := func(value string) argo.ApplicationSetRolloutStep {
		return argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: selfTestLabel, Operator: "In", Values: []string{value}}},
		}
	}
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace, Name: t.Name, Labels: map[string]string{selfTestLabel: "true"},
			// With this annotation, stepgate denies a sync of step 2 whatever its flags are.
			Annotations: map[string]string{settings.RequireAnnotation: "health"},
		},
		Spec: argo.ApplicationSetSpec{
			Generators: []argo.ApplicationSetGenerator{},
			Template: argo.ApplicationSetTemplate{
				ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{Name: t.Name + "-first"}, Spec: t.spec(),
			},
			Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{
				Steps: []argo.ApplicationSetRolloutStep{step("first"), step("second")},
			}},
		},
	}
}

func (t *SelfTest) application(set *argo.ApplicationSet) *argo.Application {
	yes := true
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace, Name: t.Name + "-second", Labels: map[string]string{selfTestLabel: "second"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: argo.SchemeGroupVersion.String(), Kind: "ApplicationSet", Name: set.Name, UID: set.UID,
				Controller: &yes,
			}},
		},
		Spec: t.spec(),
		Operation: &argo.Operation{
			InitiatedBy: argo.OperationInitiator{Username: "stepgate selftest"}, Sync: &argo.SyncOperation{},
			Info: []*argo.Info{{Name: webhook.SelfTestInfo, Value: "mutate"}},
		},
	}
}

func (t *SelfTest) spec() argo.ApplicationSpec {
	return argo.ApplicationSpec{
		Project: "default", Source: &argo.ApplicationSource{RepoURL: "https://stepgate.invalid", Path: "."},
		Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc"},
	}
}
