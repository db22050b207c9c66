package faults

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/release"
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
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}).HandshakeContext(f.ctx)
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

// TestF37_SlowClients opens connections that never get on, a quarter each in: no handshake, half a header, a body of one
// byte a second, an answer that is not read. All are to a replica that the others' writes go to, too.
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
	f.note("open files before %d, at the end of the stall %d; slowest write %s", before, atTheEnd, f.writes.Percentile(100).Round(time.Millisecond))
	f.noneFailed()
}

// stall opens a connection again whenever the server has ended it.
func stall(ctx context.Context, replica *release.Replica, phase int) {
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
		_, _ = io.WriteString(secure, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
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
