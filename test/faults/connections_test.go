// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
)

// TestF28_Garbage sends bytes that are no HTTPS, 100 times a second, while others write.
func TestF28_Garbage(t *testing.T) {
	f := begin(t, "F28 garbage, plain HTTP, wrong names and old TLS on the webhook's port")
	replica := f.release.Replicas()[0]
	random := rand.New(rand.NewPCG(28, 28))
	garbage := make([]byte, 512)
	for i := range garbage {
		garbage[i] = byte(random.IntN(256))
	}
	ways := []func(net.Conn){
		func(c net.Conn) { _, _ = c.Write(garbage) },
		func(c net.Conn) { _, _ = io.WriteString(c, "POST /validate HTTP/1.1\r\nHost: x\r\n\r\n") },
		func(c net.Conn) { _ = tls.Client(c, &tls.Config{ServerName: "somebody.else"}).HandshakeContext(f.ctx) },
		func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{
				InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10,
			}).HandshakeContext(f.ctx)
		},
		func(c net.Conn) { _, _ = c.Write([]byte{22, 3, 1, 255, 255}) }, // a handshake record that never comes
		func(net.Conn) {}, // nothing
	}
	lines := strings.Count(replica.Log(), "\n")
	f.under(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for i := range times(2000) {
			<-ticker.C
			conn, err := net.Dial("tcp", replica.Webhook)
			f.Expect(err).NotTo(HaveOccurred())
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			ways[i%len(ways)](conn)
			_ = conn.Close()
			f.inject(1)
		}
	})
	logged := strings.Count(replica.Log(), "\n") - lines
	f.note("%d log lines", logged)
	// One a second and ten at once, by the limit of the server's log, and the lines of the denials.
	if most := 40 + f.writes.Calls(); logged > most {
		f.Errorf("%d log lines, more than %d", logged, most)
	}
	f.noneFailed()
}

// TestF37_SlowClients opens connections that never get on, a quarter each in: no handshake, half a header, a body of
// one byte a second, an answer that is not read. All are to a replica that the others' writes go to, too.
func TestF37_SlowClients(t *testing.T) {
	f := begin(t, "F37 1,000 slow connections in four phases")
	const connections = 1000
	replica := f.release.Replicas()[0]
	before, err := replica.OpenFiles()
	f.Expect(err).NotTo(HaveOccurred())
	stalling, stop := context.WithCancel(f.ctx)
	defer stop()
	var group sync.WaitGroup
	f.under(func() {
		for i := range connections {
			group.Go(func() { stall(stalling, replica, i%4) })
		}
		f.inject(connections)
		// Longer than it takes until the server ends the first ones.
		pass(time.Duration(times(75)) * time.Second)
	})
	atTheEnd, err := replica.OpenFiles()
	f.Expect(err).NotTo(HaveOccurred())
	stop()
	group.Wait()
	f.Eventually(replica.OpenFiles).Should(BeNumerically("<=", before+50), "open files")
	f.note("open files before %d, at the end of the stall %d; slowest write %s", before, atTheEnd,
		f.writes.Percentile(100).Round(time.Millisecond))
	f.noneFailed()
}

// TestF46_SlowBodies has clients with addresses of their own.
func TestF46_SlowBodies(t *testing.T) {
	f := begin(t, "F46 64 connections announce 7 MiB and send a byte a second, from other addresses")
	f.slowBodies(func(i int) net.IP { return net.IPv4(127, 0, 1, byte(i)) })
}

// TestF47_SlowBodiesBesideTheAPIServer has all clients have the address from which the API server's calls come.
func TestF47_SlowBodiesBesideTheAPIServer(t *testing.T) {
	f := begin(t, "F47 64 connections announce 7 MiB and send a byte a second, from the API server's address")
	f.slowBodies(func(int) net.IP { return net.IPv4(127, 0, 0, 1) })
}

// slowBodies has clients send the longest bodies to one replica, slowly, each from the address that from gives. Half of
// them send some more at once: a quarter 60 KiB, and a quarter 1 MiB. Others write meanwhile, and ask the same replica
// about an Application of usual size and one of 1.2 MB.
func (f *trial) slowBodies(from func(i int) net.IP) {
	const connections, announced = 64, 7 << 20
	long := time.Minute
	if testing.Short() {
		long = 5 * time.Second
	}
	replica := f.release.Replicas()[0]
	number := strings.ToLower(strings.Fields(f.name)[0])
	usual, large := f.rollout(number+"-usual"), f.rollout(number+"-large")
	f.Expect(usual.Fatten(f.ctx, f.Admin, 20<<10)).To(Succeed())
	f.Expect(large.Fatten(f.ctx, f.Admin, 1200<<10)).To(Succeed())
	stalling, stop := context.WithTimeout(f.ctx, long)
	defer stop()
	var cut atomic.Int32
	var group sync.WaitGroup
	f.under(func() {
		for i := range connections {
			group.Go(func() {
				for stalling.Err() == nil {
					f.slowBody(stalling, replica, from(i), announced, []int{1, 1, 60 << 10, 1 << 20}[i%4])
					cut.Add(1)
				}
			})
		}
		f.inject(connections)
		for _, r := range []*load.Rollout{usual, large} {
			asker := f.asker(replica)
			group.Go(func() {
				for stalling.Err() == nil {
					f.ask(asker, r, webhookTimeout)
					pass(100 * time.Millisecond)
				}
			})
		}
		group.Wait()
	})
	f.note("connections were cut %d times; half of the questions took %s at most, the slowest %s; slowest write %s",
		cut.Load(), f.questions.Percentile(50).Round(time.Millisecond),
		f.questions.Percentile(100).Round(time.Millisecond), f.writes.Percentile(100).Round(time.Millisecond))
	f.noneFailed()
	f.Expect(f.questions.Count(load.Failed)).To(BeZero(), "%v", f.questions.Texts())
	f.Expect(f.Admin.DeleteAllOf(f.ctx, &argo.Application{}, client.InNamespace(large.Prod.Namespace))).To(Succeed())
}

// slowBody announces a body, sends a part of it at once and then a byte a second, until the server ends the connection.
func (f *trial) slowBody(ctx context.Context, replica *installed.Replica, from net.IP, announced, first int) {
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}, Config: &tls.Config{InsecureSkipVerify: true},
	}
	conn, err := dialer.DialContext(ctx, "tcp", replica.Webhook)
	if err != nil {
		return
	}
	ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer ended()
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST /validate?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", announced, strings.Repeat(" ", first))
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for err == nil {
		<-ticker.C
		_, err = conn.Write([]byte(" "))
	}
}

// stall opens a connection again whenever the server has ended it.
func stall(ctx context.Context, replica *installed.Replica, phase int) {
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", replica.Webhook)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		stallOnce(ctx, conn, phase)
		stop()
		_ = conn.Close()
	}
}

func stallOnce(ctx context.Context, conn net.Conn, phase int) {
	if phase == 0 {
		_, _ = io.Copy(io.Discard, conn) // until the server ends it
		return
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if secure.HandshakeContext(ctx) != nil {
		return
	}
	switch phase {
	case 1:
		_, _ = io.WriteString(secure, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-")
		_, _ = io.Copy(io.Discard, secure)
	case 2:
		_, _ = io.WriteString(
			secure, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
		)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if _, err := secure.Write([]byte("{")); err != nil {
					return
				}
			}
		}
	case 3:
		_, _ = io.WriteString(secure, "GET /validate HTTP/1.1\r\nHost: x\r\n\r\n")
		<-ctx.Done()
	}
}
