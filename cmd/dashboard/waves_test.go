// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	. "github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// TestWaves have their place and their number in all that the page gets.
func TestWaves(t *testing.T) {
	g := NewWithT(t)
	text := func(shown any) string {
		text, err := json.Marshal(shown)
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	steps := []rollout.Step{{Number: 1, Wave: ptr.To(-1)}, {Number: 2, Wave: ptr.To(0)}, {Number: 3, Wave: ptr.To(20)}}
	row := text(RowOf(&rollout.Rollout{Waves: true, Step: 2, Steps: steps}))
	g.Expect(row).To(ContainSubstring(`"step":2,"wave":0,"steps":3`))
	g.Expect(text(RowOf(&rollout.Rollout{Waves: true, Steps: steps}))).NotTo(ContainSubstring("wave"), "all are done")
	g.Expect(text(RowOf(&rollout.Rollout{Step: 1, Steps: []rollout.Step{{Number: 1}}}))).NotTo(ContainSubstring("wave"))

	kept := &ledger.Log{Rollouts: []ledger.Rollout{{Steps: []ledger.Step{
		{Step: policy.WaveStep(0) + 1}, {Step: policy.WaveStep(20) + 1},
	}}}}
	h, err := HistoryOf(kept, nil, "stepgate", metav1.NewTime(time.Unix(0, 0)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text(h)).To(And(ContainSubstring(`{"step":0,"wave":0,`), ContainSubstring(`{"step":20,"wave":20,`)))
	g.Expect(kept.Rollouts[0].Steps[1].Step).To(Equal(policy.WaveStep(20)+1), "what is kept is as it was")
}

// TestAnActionNamesAWave also where that is 0.
func TestAnActionNamesAWave(t *testing.T) {
	g := NewWithT(t)
	s, f := serve(t)
	for body, want := range map[string]*int{
		`{"verb":"pause","namespace":"argocd","name":"guestbook"}`:            nil,
		`{"verb":"pause","namespace":"argocd","name":"guestbook","step":0}`:   nil,
		`{"verb":"pause","namespace":"argocd","name":"guestbook","step":3}`:   ptr.To(3),
		`{"verb":"pause","namespace":"argocd","name":"guestbook","wave":0}`:   ptr.To(0),
		`{"verb":"pause","namespace":"argocd","name":"guestbook","wave":-1}`:  ptr.To(-1),
		`{"verb":"resume","namespace":"argocd","name":"guestbook","wave":20}`: ptr.To(20),
	} {
		f.acted = nil
		response := request(t, http.MethodPost, s.URL+"/api/actions", body, nil)
		g.Expect(response.StatusCode).To(Equal(200), body)
		g.Expect(f.acted).To(HaveLen(1))
		g.Expect(f.acted[0].Number()).To(Equal(want), body)
	}
}
