package main

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

	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	selfTestLabel   = "stepgate.io/selftest"
	selfTestPause   = 500 * time.Millisecond
	selfTestCleanup = 10 * time.Second
)

// selfTest sends an early sync through the API server, and expects stepgate to deny it. It creates an ApplicationSet
// without generators, so Argo CD generates nothing from it. It records in the ApplicationSet's status that an
// Application of step 1 has not been created yet, and sends the sync of an Application of step 2 as a server dry-run.
// The API server stores nothing of that Application, and the selftest deletes the ApplicationSet at the end. The sync
// asks the mutating webhook for a warning, which shows that the API server calls it, too.
type selfTest struct {
	kubeconfig      string
	namespace, name string
	mutating        bool
	timeout         time.Duration

	objects  client.Client
	warnings heard
	out      io.Writer
}

// heard collects the API server's warnings.
type heard struct{ texts []string }

// HandleWarningHeader keeps one warning.
func (h *heard) HandleWarningHeader(_ int, _, text string) { h.texts = append(h.texts, text) }

func newSelfTest() *cobra.Command {
	t := &selfTest{}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Check that stepgate denies an early sync, with a server dry-run (helm test)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.namespace == "" || t.name == "" {
				return &usageError{"--namespace and --name cannot be empty"}
			}
			config, err := restConfig(t.kubeconfig)
			if err != nil {
				return err
			}
			t.out = cmd.OutOrStdout()
			return t.run(cmd.Context(), config)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	bindKubeconfig(f, &t.kubeconfig)
	f.StringVar(&t.namespace, "namespace", "", "namespace of the test; stepgate must gate it")
	f.StringVar(&t.name, "name", "stepgate-selftest", "name of the ApplicationSet that the test creates and deletes")
	f.BoolVar(&t.mutating, "mutating", true, "expect an answer of the mutating webhook, too; false goes with --mode audit and --pin off")
	f.DurationVar(&t.timeout, "timeout", time.Minute, "how long the test repeats the sync until it is denied")
	return cmd
}

func (t *selfTest) run(ctx context.Context, config *rest.Config) (err error) {
	config.WarningHandler = &t.warnings
	if t.objects, err = argoObjects(config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	// An earlier run that was killed may have left one behind.
	if err := t.delete(ctx); err != nil {
		return err
	}
	set := t.applicationSet()
	if err := t.objects.Create(ctx, set); err != nil {
		return fmt.Errorf("create ApplicationSet %s/%s: %w", t.namespace, t.name, err)
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), selfTestCleanup)
		defer cancel()
		err = errors.Join(err, t.delete(cleanup))
	}()
	for {
		answer, problem := t.try(ctx, set)
		if problem == nil {
			_, err := fmt.Fprintln(t.out, answer)
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not passed within %s: %w", t.timeout, problem)
		case <-time.After(selfTestPause):
		}
	}
}

// try sends the sync once. It returns the answer if it is the expected one.
func (t *selfTest) try(ctx context.Context, set *argo.ApplicationSet) (string, error) {
	before := set.DeepCopy()
	set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{
		Application: t.name + "-first", Step: "1", Status: argo.ProgressiveSyncPending, Message: "selftest of stepgate", TargetRevisions: []string{},
	}}
	// Argo CD may have removed the status, since it knows no such Application. Write all of it again.
	before.Status.ApplicationStatus = nil
	if err := t.objects.Status().Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return "", fmt.Errorf("write the status of ApplicationSet %s/%s: %w", t.namespace, t.name, err)
	}
	t.warnings.texts = nil
	err := t.objects.Create(ctx, t.application(set), client.DryRunAll)
	answer, problem := t.validated(err)
	if problem != nil || !t.mutating {
		return answer, problem
	}
	if !slices.Contains(t.warnings.texts, webhook.SelfTestWarning) {
		return "", errors.New("the validating webhook answered, but the mutating webhook did not: the API server does not call it, or gets no answer within its timeoutSeconds; " +
			"automated syncs of step 2 and later will be refused (NotPinned); see that the MutatingWebhookConfiguration exists, selects the same namespaces as the ValidatingWebhookConfiguration, " +
			"and has a caBundle; if pinning is off, run the selftest with --mutating=false")
	}
	return answer + "; the mutating webhook answered, too", nil
}

// validated says whether an answer of the API server is the one that the validating webhook has to give.
func (t *selfTest) validated(err error) (answer string, problem error) {
	expected := fmt.Sprintf("step 2 of ApplicationSet %s/%s", t.namespace, t.name)
	said := strings.Join(t.warnings.texts, "; ")
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), expected):
		return "passed: the API server answered: " + err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("the sync was not refused by stepgate: %w", err)
	case strings.Contains(said, "stepgate (audit mode)") && strings.Contains(said, expected):
		return "passed: stepgate is in audit mode; the API server warned: " + said, nil
	}
	return "", fmt.Errorf("the sync was admitted: the API server does not call stepgate for namespace %s, or is not answered (failurePolicy Ignore); "+
		"see that the Pods are ready and that the namespace is one of argocd.namespaces and has no label stepgate.io/ignore", t.namespace)
}

func (t *selfTest) delete(ctx context.Context) error {
	var set argo.ApplicationSet
	err := t.objects.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, &set)
	if err == nil && set.Labels[selfTestLabel] == "" {
		return fmt.Errorf("ApplicationSet %s/%s exists and is not one of a selftest: choose another --name", t.namespace, t.name)
	}
	if err == nil {
		err = t.objects.Delete(ctx, &set, client.Preconditions{UID: &set.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ApplicationSet %s/%s: %w", t.namespace, t.name, err)
	}
	return nil
}

func (t *selfTest) applicationSet() *argo.ApplicationSet {
	step := func(value string) argo.ApplicationSetRolloutStep {
		return argo.ApplicationSetRolloutStep{MatchExpressions: []argo.ApplicationMatchExpression{{Key: selfTestLabel, Operator: "In", Values: []string{value}}}}
	}
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.namespace, Name: t.name, Labels: map[string]string{selfTestLabel: "true"},
			// With this annotation, stepgate denies a sync of step 2 whatever its flags are.
			Annotations: map[string]string{settings.RequireAnnotation: "health"},
		},
		Spec: argo.ApplicationSetSpec{
			Generators: []argo.ApplicationSetGenerator{},
			Template: argo.ApplicationSetTemplate{
				ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{Name: t.name + "-first"}, Spec: t.spec(),
			},
			Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{
				Steps: []argo.ApplicationSetRolloutStep{step("first"), step("second")},
			}},
		},
	}
}

func (t *selfTest) application(set *argo.ApplicationSet) *argo.Application {
	yes := true
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.namespace, Name: t.name + "-second", Labels: map[string]string{selfTestLabel: "second"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: argo.SchemeGroupVersion.String(), Kind: "ApplicationSet", Name: set.Name, UID: set.UID, Controller: &yes,
			}},
		},
		Spec: t.spec(),
		Operation: &argo.Operation{
			InitiatedBy: argo.OperationInitiator{Username: "stepgate selftest"}, Sync: &argo.SyncOperation{},
			Info: []*argo.Info{{Name: webhook.SelfTestInfo, Value: "mutate"}},
		},
	}
}

func (t *selfTest) spec() argo.ApplicationSpec {
	return argo.ApplicationSpec{
		Project: "default", Source: &argo.ApplicationSource{RepoURL: "https://stepgate.invalid", Path: "."},
		Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc"},
	}
}
