// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// stored is the first part of the ledger of an ApplicationSet, with a log.
func stored(log []byte) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "stepgate", Name: "stepgate-ledger-set-0", Labels: map[string]string{ledger.Label: "set"},
	}}
	if log != nil {
		m.BinaryData = map[string][]byte{ledger.RolloutsKey: log}
	}
	return m
}

// written is a log of a version.
func written(t *testing.T, version int) []byte {
	t.Helper()
	text, err := ledger.EncodeLog(&ledger.Log{
		Version: version, UID: "set", Rollouts: []ledger.Rollout{{Revision: "1", Steps: []ledger.Step{}}},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return text
}

// bomb is a few KiB that stand for 64 MiB.
func bomb(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(make([]byte, 64<<20))
	NewWithT(t).Expect(errors.Join(err, w.Close())).To(Succeed())
	return out.Bytes()
}

// TestRead: a log, or an error that says why there is none, with a sentence for people.
func TestRead(t *testing.T) {
	labelled := stored(written(t, ledger.Version))
	labelled.Labels[ledger.Label] = "another"
	for name, tc := range map[string]struct {
		stored *corev1.ConfigMap
		fails  error
		want   error
		says   string
	}{
		"a log":                     {stored: stored(written(t, ledger.Version))},
		"no ledger":                 {want: history.ErrNoLedger, says: "has kept nothing of this rollout yet"},
		"no log":                    {stored: stored(nil), want: history.ErrNoLog, says: "upgrade stepgate"},
		"of another version":        {stored: stored(written(t, 2)), want: ledger.ErrVersion, says: "another version of stepgate"},
		"no bytes of a log":         {stored: stored([]byte("text")), want: ledger.ErrUnreadable, says: "cannot be read"},
		"of more than a log has":    {stored: stored(bomb(t)), want: ledger.ErrUnreadable, says: "cannot be read"},
		"of another ApplicationSet": {stored: labelled, want: ledger.ErrUnreadable, says: "cannot be read"},
		"without the right": {
			fails: apierrors.NewForbidden(corev1.Resource("configmaps"), "x", nil), want: history.ErrForbidden,
			says: "ask for the right to get ConfigMaps in namespace stepgate",
		},
		"an API server that is away": {fails: errAway, want: errAway},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client := fake.NewClientset()
			if tc.stored != nil {
				client = fake.NewClientset(tc.stored)
			}
			client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				return tc.fails != nil, nil, tc.fails
			})
			log, err := history.Read(t.Context(), client, "stepgate", "set")
			if tc.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(log.Rollouts).To(HaveLen(1))
				return
			}
			g.Expect(err).To(MatchError(tc.want))
			g.Expect(log).To(BeNil())
			if tc.says == "" {
				g.Expect(history.Missing(err, "stepgate")).To(BeEmpty(), "it tells nothing about the log")
				return
			}
			g.Expect(history.Missing(err, "stepgate")).To(And(ContainSubstring(tc.says), HaveSuffix(".")))
		})
	}
}

var errAway = errors.New("the API server is away")
