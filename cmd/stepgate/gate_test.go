// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/record"
)

// TestWhetherThereIsAGate is a fact: what the API server has registered, what its selector takes, and whether a replica
// is ready. What cannot be read is no reason to say that there is none.
func TestWhetherThereIsAGate(t *testing.T) {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: record.IgnoreLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{record.IgnoreValue}},
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{"argocd"}},
	}}
	registered := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "stepgate"},
		Webhooks:   []admissionv1.ValidatingWebhook{{Name: presence.ValidatingWebhook, NamespaceSelector: selector}},
	}
	open := registered.DeepCopy()
	open.Webhooks[0].FailurePolicy = ptr.To(admissionv1.Ignore)
	namespace := func(name, ignore string) *corev1.Namespace {
		labels := map[string]string{corev1.LabelMetadataName: name}
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if ignore != "" {
			n.Labels[record.IgnoreLabel] = ignore
		}
		return n
	}
	served := func(c *admissionv1.ValidatingWebhookConfiguration) *admissionv1.ValidatingWebhookConfiguration {
		c = c.DeepCopy()
		c.Webhooks[0].ClientConfig.Service = &admissionv1.ServiceReference{Namespace: "stepgate", Name: "stepgate"}
		return c
	}
	unready := deployment("--mode=enforce")
	unready.Status.ObservedGeneration, unready.Status.Replicas = 1, 2
	ready := unready.DeepCopy()
	ready.Status.ReadyReplicas = 1
	for name, tc := range map[string]struct {
		objects []runtime.Object
		where   string
		fails   string
		want    string
		problem string
	}{
		"it is registered, and ready":                 {objects: []runtime.Object{registered, namespace("argocd", ""), ready}},
		"nobody knows whether it is ready":            {objects: []runtime.Object{registered, namespace("argocd", ""), deployment("--mode=enforce")}},
		"without a Deployment":                        {objects: []runtime.Object{registered, namespace("argocd", "")}},
		"in all namespaces":                           {objects: []runtime.Object{registered, namespace("argocd", ""), ready}, where: "-"},
		"not registered":                              {objects: []runtime.Object{namespace("argocd", ""), ready}, want: "the API server calls no stepgate: no ValidatingWebhookConfiguration has its webhook"},
		"switched off":                                {objects: []runtime.Object{registered, namespace("argocd", "true"), ready}, want: "namespace argocd has the label stepgate.io/ignore=true"},
		"switched off by another value":               {objects: []runtime.Object{registered, namespace("argocd", "false"), ready}},
		"left out":                                    {objects: []runtime.Object{registered, namespace("team-a", ""), ready}, where: "team-a", want: "the API server does not ask stepgate about namespace team-a"},
		"no replica is ready, and it fails open":      {objects: []runtime.Object{open, namespace("argocd", ""), unready}, want: "no replica of Deployment stepgate/stepgate is ready, and the failure policy is Ignore"},
		"no replica is ready, and it fails closed":    {objects: []runtime.Object{registered, namespace("argocd", ""), unready}, problem: "every sync is refused: no replica of Deployment stepgate/stepgate is ready"},
		"the Deployment is gone, and it fails open":   {objects: []runtime.Object{served(open), namespace("argocd", "")}, want: "there is no Deployment of stepgate in namespace stepgate, and the failure policy is Ignore"},
		"the Deployment is gone, and it fails closed": {objects: []runtime.Object{served(registered), namespace("argocd", "")}, problem: "every sync is refused: there is no Deployment of stepgate in namespace stepgate"},
		"no right to read Deployments":                {objects: []runtime.Object{served(open), namespace("argocd", "")}, fails: "deployments"},
		"no right to read webhooks":                   {objects: []runtime.Object{namespace("argocd", ""), ready}, fails: "validatingwebhookconfigurations"},
		"no right to read namespaces":                 {objects: []runtime.Object{registered, ready}, fails: "namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clientset := fake.NewClientset(tc.objects...)
			if tc.fails != "" {
				clientset.PrependReactor("*", tc.fails, func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, errors.New("forbidden")
				})
			}
			where := tc.where
			switch where {
			case "":
				where = "argocd"
			case "-":
				where = ""
			}
			gate := installation(t.Context(), clientset, where)
			known, _ := withSlots()
			r := &rollouts{cli: &cli{}, clients: &kube.Cluster{Clientset: clientset}}
			set := *known.Sets()[0]
			set.Namespace = cmp.Or(where, "argocd")
			shown := rollout.Judge(r.preview(gate, known).Outlook(&set))
			exempt, problems := strings.Join(shown.Exempt, "\n"), strings.Join(shown.Problems, "\n")
			if tc.want == "" {
				g.Expect(exempt).NotTo(ContainSubstring("nothing is held or denied"))
			} else {
				g.Expect(exempt).To(ContainSubstring("nothing is held or denied: " + tc.want))
			}
			g.Expect(problems).To(ContainSubstring(tc.problem))
			g.Expect(strings.Contains(problems, "every sync is refused")).To(Equal(tc.problem != ""))
		})
	}
}

// TestEachNamespaceHasItsOwnGate, where all are shown: two installations with modes of their own, a namespace that is
// switched off, one that the selector leaves out, and one that the flags leave out.
func TestEachNamespaceHasItsOwnGate(t *testing.T) {
	g := NewWithT(t)
	registered := func(name string, namespaces ...string) *admissionv1.ValidatingWebhookConfiguration {
		return &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: presence.ValidatingWebhook, ClientConfig: admissionv1.WebhookClientConfig{
					Service: &admissionv1.ServiceReference{Namespace: "stepgate", Name: name},
				},
				NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: record.IgnoreLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{record.IgnoreValue}},
					{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces},
				}},
			}},
		}
	}
	one := deployment("--application-namespaces=argocd,team-*")
	two := deployment("--mode=audit", "--application-namespaces=audited")
	two.Name = "two"
	objects := []runtime.Object{
		registered("stepgate", "argocd", "team-off", "other"), registered("two", "audited"), one, two,
	}
	for _, name := range []string{"argocd", "audited", "team-off", "team-left-out", "other"} {
		labels := map[string]string{corev1.LabelMetadataName: name}
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if name == "team-off" {
			n.Labels[record.IgnoreLabel] = record.IgnoreValue
		}
		objects = append(objects, n)
	}
	clientset := fake.NewClientset(objects...)
	found, err := readGates(t.Context(), clientset, "")
	g.Expect(err).NotTo(HaveOccurred())
	known := rollout.NewSnapshot()
	for _, name := range []string{"argocd", "audited", "team-off", "team-left-out", "other"} {
		set := guestbook.Set(name)
		set.UID = types.UID(name)
		known.Add(set)
	}
	r := &rollouts{cli: &cli{}, clients: &kube.Cluster{Clientset: clientset}}
	shown := map[string]string{}
	for _, one := range (&get{}).judge(r, found, known, nil).Items {
		shown[one.Namespace] = strings.Join(one.Exempt, "")
	}
	g.Expect(shown).To(Equal(map[string]string{
		"argocd": "", "audited": "mode audit: nothing is held or denied",
		"team-off": "nothing is held or denied: namespace team-off has the label stepgate.io/ignore=true",
		"team-left-out": "nothing is held or denied: the API server does not ask stepgate about namespace team-left-out: the " +
			"namespaceSelector of its webhook leaves it out",
		"other": "nothing is held or denied: Deployment stepgate/stepgate does not gate namespace other: see its " +
			"--application-namespaces",
	}))
}
