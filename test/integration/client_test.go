// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"crypto/tls"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
)

// TestOnlyTheAPIServerMayCall lets stepgate ask for client certificates: the API server has one, and others have none.
func TestOnlyTheAPIServerMayCall(t *testing.T) {
	r := newRollout(t, "--client-ca-file="+shared.ClientCA(), "--client-allowed-name="+cluster.ClientName)
	r.denied(r.sync(cluster.ControllerAccount, "qa"), "NotHealthy engineering-dev-guestbook")

	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := stranger.Get("https://" + r.replica.Webhook + "/validate")
	if err == nil {
		_ = response.Body.Close()
	}
	r.Expect(err).To(MatchError(ContainSubstring("certificate required")))
}

// TestAnotherNameMayNotCall is the control: the API server's certificate has another name than the allowed one.
func TestAnotherNameMayNotCall(t *testing.T) {
	r := newRolloutNotReady(t, installed.Options{
		Args: []string{"--client-ca-file=" + shared.ClientCA(), "--client-allowed-name=somebody"},
	})
	r.Expect(r.replica.WaitReady(r.ctx)).To(Succeed())

	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "dev") }).
		Should(MatchError(And(ContainSubstring(`failed calling webhook "operation.stepgate.io"`), ContainSubstring("tls: "))))
}
