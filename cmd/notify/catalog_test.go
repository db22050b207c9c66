// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/argoproj/notifications-engine/pkg/api"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/cmd/notify/catalog"
)

// TestTheCatalogIsRight: Argo CD's own controller would take it, and every template makes a message for every kind of
// service that it has words for.
func TestTheCatalogIsRight(t *testing.T) {
	w := newWorld(t)
	w.is(turn)
	data, err := catalog.Data()
	w.Expect(err).NotTo(HaveOccurred())
	config, err := api.ParseConfig(&corev1.ConfigMap{Data: data}, &corev1.Secret{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = api.NewAPI(*config, nil)
	w.Expect(err).NotTo(HaveOccurred())
	var sent []string
	for _, conditions := range config.Triggers {
		for _, c := range conditions {
			w.Expect(c.OncePer).NotTo(BeEmpty())
			sent = append(sent, c.Send...)
		}
	}
	w.Expect(slices.Sorted(slices.Values(sent))).To(Equal(slices.Sorted(maps.Keys(config.Templates))))

	s := newSettings(&corev1.ConfigMap{}, &corev1.Secret{})
	w.Expect(s.problems).To(BeEmpty())
	vars := w.new().facts(w.Sets()[0]).vars(nil)
	for name := range config.Templates {
		n, err := s.format(vars, []string{name})
		w.Expect(err).NotTo(HaveOccurred(), name)
		w.Expect(n.Message).NotTo(ContainSubstring("<no value>"), name)
		w.Expect(n.Email.Subject).To(ContainSubstring("argocd/guestbook"), name)
		w.Expect(n.Email.Subject).NotTo(ContainSubstring("<no value>"), name)
		var attachments []map[string]string
		w.Expect(json.Unmarshal([]byte(n.Slack.Attachments), &attachments)).To(Succeed(), name)
		w.Expect(attachments).To(ConsistOf(And(HaveKey("color"), HaveKey("text"))), name)
		w.Expect(json.Valid([]byte(n.Webhook["stepgate"].Body))).To(BeTrue(), name)
	}
}
