// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// echo is a Wire that returns every byte, and a connection to it.
func echo(t *testing.T) (*Wire, net.Conn) {
	t.Helper()
	g := NewWithT(t)
	w, err := NewWire()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = w.Close() })
	go func() {
		for {
			conn, err := w.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	return w, dial(t, w)
}

func dial(t *testing.T, w *Wire) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", w.Addr().String())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say sends a word and waits for its echo, up to a limit.
func say(conn net.Conn, word string, limit time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len(word)))
	return err
}

func TestWireHoldsAndDeliversLate(t *testing.T) {
	g := NewWithT(t)
	w, conn := echo(t)
	g.Expect(say(conn, "a", time.Minute)).To(Succeed())

	w.Hold()
	g.Expect(errors.Is(say(conn, "b", 100*time.Millisecond), os.ErrDeadlineExceeded)).To(BeTrue(), "an open connection")
	other := dial(t, w)
	g.Expect(errors.Is(say(other, "c", 100*time.Millisecond), os.ErrDeadlineExceeded)).To(BeTrue(), "a new connection")

	w.Heal()
	g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	g.Expect(io.ReadFull(conn, make([]byte, 1))).To(Equal(1), "the held byte arrives")
	g.Expect(say(conn, "d", time.Minute)).To(Succeed())
}

func TestWireResetsAndRefuses(t *testing.T) {
	g := NewWithT(t)
	w, conn := echo(t)
	g.Expect(say(conn, "a", time.Minute)).To(Succeed())

	w.Reset()
	g.Expect(say(conn, "b", time.Minute)).NotTo(Succeed())
	g.Expect(say(dial(t, w), "c", time.Minute)).To(Succeed(), "a new connection")

	w.Refuse()
	refused, err := net.Dial("tcp", w.Addr().String())
	if err == nil { // else the reset came first
		err = say(refused, "d", time.Minute)
		_ = refused.Close()
	}
	g.Expect(err).To(HaveOccurred())
	w.Heal()
	g.Expect(say(dial(t, w), "e", time.Minute)).To(Succeed())
}

func TestWireDelays(t *testing.T) {
	g := NewWithT(t)
	w, conn := echo(t)
	w.Delay(50 * time.Millisecond)
	start := time.Now()
	g.Expect(say(conn, "a", time.Minute)).To(Succeed())
	g.Expect(time.Since(start)).To(BeNumerically(">=", 100*time.Millisecond), "both ways")
}

// A fault that is meant for a kind of request and happens to none would make a test that cannot fail.
func TestKindsOfRequests(t *testing.T) {
	const argo = "/apis/argoproj.io/v1alpha1"
	for request, want := range map[string]string{
		argo + "/namespaces/a/applicationsets/b":                                             GetSet,
		argo + "/namespaces/a/applicationsets":                                               ListSet,
		argo + "/applicationsets?watch=true":                                                 WatchSets,
		argo + "/namespaces/a/applications/b":                                                GetApp,
		argo + "/namespaces/a/applications?labelSelector=x":                                  ListVersions,
		argo + "/applications?watch=true&allowWatchBookmarks=true":                           WatchApps,
		"/apis/events.k8s.io/v1/namespaces/a/events":                                         PostEvent,
		"/api/v1/namespaces/stepgate/secrets?watch=true":                                     Secrets,
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/stepgate?x=y": Configure,
		"/version": Other,
	} {
		r := httptest.NewRequest(http.MethodGet, request, nil)
		r.Header.Set("Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		NewWithT(t).Expect(kindOf(r)).To(Equal(want), request)
	}
	NewWithT(t).Expect(kindOf(httptest.NewRequest(http.MethodGet, argo+"/applications", nil))).To(Equal(ListApps))
}

func TestNthHappensOnce(t *testing.T) {
	g := NewWithT(t)
	fault := Only(Nth(2, Answer(http.StatusTeapot, 0, "")), GetApp)
	next := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusOK) })
	var codes []int
	for _, kind := range []string{GetApp, GetSet, GetApp, GetApp} {
		rw := httptest.NewRecorder()
		fault(kind, rw, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil), next)
		codes = append(codes, rw.Code)
	}
	g.Expect(codes).To(Equal([]int{200, 200, 418, 200}))
}
