// SPDX-License-Identifier: Apache-2.0

package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// silentAges is how many times as old as an idle connection one counts that never served a review.
const silentAges = 100

// connections are those that are open. The methods of limitedListener and connection hold its lock.
type connections struct {
	total, open, unused int
	byAddress           map[string]*addressed
}

// addressed are the connections of one address. Those that are unused may give way. They are in the order of
// connection.since: silent ones have never served a review, the others have.
type addressed struct {
	open         int
	silent, idle *list.List
}

func newConnections(total int) connections {
	return connections{total: total, byAddress: map[string]*addressed{}}
}

// room reports whether an address may have one more connection, and which one has to give way to it. What others do not
// use is left for an address. Above its share, one of its own gives way.
func (s *connections) room(address string, now time.Time) (gives *connection, fits bool) {
	own := s.byAddress[address]
	if own == nil {
		own = &addressed{silent: list.New(), idle: list.New()}
	}
	unused := own.silent.Len() + own.idle.Len()
	switch {
	case own.open >= addressShare*(s.total-s.open+s.unused-unused):
		gives, _ = own.longest(now)
	case s.open < s.total:
		return nil, true
	default:
		gives = s.longest(now)
	}
	return gives, gives != nil
}

// longest returns the unused connection that gives way first: the oldest one of the address that has most of them, for
// longest. So neither somebody who keeps many open, nor somebody who opens thousands a second, takes the new ones of an
// API server, which are in a handshake for milliseconds.
func (s *connections) longest(now time.Time) (found *connection) {
	most := time.Duration(-1)
	for _, of := range s.byAddress {
		if c, long := of.longest(now); c != nil && long > most {
			found, most = c, long
		}
	}
	return found
}

// longest returns the unused connection of an address that gives way first, and for how long so many are unused: their
// number times the age of the oldest.
func (a *addressed) longest(now time.Time) (found *connection, most time.Duration) {
	for _, of := range []struct {
		unused *list.List
		ages   int
	}{{a.silent, silentAges}, {a.idle, 1}} {
		if of.unused.Len() == 0 {
			continue
		}
		c, _ := of.unused.Front().Value.(*connection)
		if long := now.Sub(c.since) * time.Duration(of.unused.Len()*of.ages); found == nil || long > most {
			found, most = c, long
		}
	}
	return found, most
}

func (s *connections) add(c *connection) {
	of := s.byAddress[c.address]
	if of == nil {
		of = &addressed{silent: list.New(), idle: list.New()}
		s.byAddress[c.address] = of
	}
	s.open++
	of.open++
	s.leave(c)
}

// leave has a connection give way to others.
func (s *connections) leave(c *connection) {
	unused := s.byAddress[c.address].of(c)
	after := unused.Back()
	for after != nil && after.Value.(*connection).since.After(c.since) {
		after = after.Prev()
	}
	if after == nil {
		c.place = unused.PushFront(c)
	} else {
		c.place = unused.InsertAfter(c, after)
	}
	s.unused++
}

// of returns the connections of the kind of one.
func (a *addressed) of(c *connection) *list.List {
	if c.served {
		return a.idle
	}
	return a.silent
}

// keep has a connection give way to no other.
func (s *connections) keep(c *connection) {
	if c.place != nil {
		s.byAddress[c.address].of(c).Remove(c.place)
		c.place = nil
		s.unused--
	}
}

// remove does nothing with one that is removed already.
func (s *connections) remove(c *connection) {
	if c.removed {
		return
	}
	s.keep(c)
	c.removed = true
	s.open--
	of := s.byAddress[c.address]
	if of.open--; of.open == 0 {
		delete(s.byAddress, c.address)
	}
}

// connection is counted until it is closed. It gives way to others unless a request of it is being decided: until its
// body has arrived, it may take long on purpose.
type connection struct {
	net.Conn
	of      *limitedListener
	address string

	// of.mu guards what follows. since is when it was opened, or when its last request began, or was answered with a
	// review. Other answers do not count: anybody gets those for nothing. before is since before the last request.
	since, before time.Time
	served        bool          // a review
	place         *list.Element // among those that are unused; nil if it is not
	removed       bool
}

// begin is called when the header of a request has arrived. As the other methods, it does nothing without a connection.
func (c *connection) begin() {
	c.change(func() {
		c.before, c.since = c.since, c.of.clock.Now()
		c.of.keep(c)
		c.of.leave(c)
	})
}

// decide is called when the body of a request has arrived.
func (c *connection) decide() { c.change(func() { c.of.keep(c) }) }

// end is called when a request is answered. counts says whether that is a use of the connection.
func (c *connection) end(counts bool) {
	c.change(func() {
		c.of.keep(c)
		c.since = c.before
		if counts {
			c.since, c.served = c.of.clock.Now(), true
		}
		c.of.leave(c)
	})
}

func (c *connection) change(do func()) {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.removed {
		do()
	}
}

// Close closes the connection.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withConnection is the ConnContext of an http.Server that serves a limitedListener.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	c, _ := conn.(*connection)
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request; nil without a limitedListener.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}
