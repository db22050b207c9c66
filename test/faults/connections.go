package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/release"
)

// garbage sends what is no HTTPS, 100 times a second, while others write.
func garbage(ctx context.Context, t *trial) error {
	gate := t.release.Replicas()[0]
	random := rand.New(rand.NewPCG(28, 28))
	noise := make([]byte, 512)
	for i := range noise {
		noise[i] = byte(random.IntN(256))
	}
	ways := []func(net.Conn){
		func(c net.Conn) { _, _ = c.Write(noise) },
		func(c net.Conn) { _, _ = io.WriteString(c, "POST /validate HTTP/1.1\r\nHost: x\r\n\r\n") },
		func(c net.Conn) { _ = tls.Client(c, &tls.Config{ServerName: "somebody.else"}).HandshakeContext(ctx) },
		func(c net.Conn) {
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}).HandshakeContext(ctx)
		},
		func(c net.Conn) { _, _ = c.Write([]byte{22, 3, 1, 255, 255}) }, // a handshake record that never comes
		func(net.Conn) {}, // nothing
	}
	lines := strings.Count(gate.Log(), "\n")
	err := t.under(ctx, func(ctx context.Context) error {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for i := range t.times(2000) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
			conn, err := net.Dial("tcp", gate.Webhook)
			if err != nil {
				return err
			}
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			ways[i%len(ways)](conn)
			_ = conn.Close()
			t.inject(1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	logged := strings.Count(gate.Log(), "\n") - lines
	t.note("%d log lines", logged)
	// One a second and ten at once, by the limit of the server's log, and the lines of the denials.
	if most := 40 + t.writes.Calls(); logged > most {
		t.problem("%d log lines", logged)
	}
	t.noneFailed()
	return nil
}

// slowClients opens connections that never get on, a quarter each in: no handshake, half a header, a body of one byte a
// second, an answer that is not read. All are to a replica that the others' writes go to, too.
func slowClients(ctx context.Context, t *trial) error {
	const connections = 1000
	gate := t.release.Replicas()[0]
	files, err := gate.OpenFiles()
	if err != nil {
		return err
	}
	stalling, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	err = t.under(ctx, func(ctx context.Context) error {
		for i := range connections {
			group.Go(func() { stall(stalling, gate, i%4) })
		}
		t.inject(connections)
		// Longer than it takes until the server ends the first ones.
		return pass(ctx, time.Duration(t.times(75))*time.Second)
	})
	if err != nil {
		return err
	}
	most, err := gate.OpenFiles()
	if err != nil {
		return err
	}
	stop()
	group.Wait()
	err = eventually.Succeeds(ctx, func() error {
		now, err := gate.OpenFiles()
		if err == nil && now > files+50 {
			err = fmt.Errorf("%d files are open; before there were %d", now, files)
		}
		return err
	})
	if err != nil {
		t.problem("%v", err)
	}
	t.note("open files before %d, at the end of the stall %d; slowest write %s", files, most, t.writes.Percentile(100).Round(time.Millisecond))
	t.noneFailed()
	return nil
}

// stall opens a connection again whenever the server has ended it.
func stall(ctx context.Context, gate *release.Replica, phase int) {
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", gate.Webhook)
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
