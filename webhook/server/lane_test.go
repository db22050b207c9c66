// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func (l *lane) waiters() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// asked is a request of the tests: its address and what it costs, and who has got its memory.
type asked struct {
	*queued
	name string
}

// ask has requests ask a lane, such as "a1,b20": of address a 1 byte, of b 20.
func ask(l *lane, requests string) (all []asked) {
	for name := range strings.SplitSeq(requests, ",") {
		w := &queued{address: name[:1], taken: make(chan struct{})}
		_, _ = fmt.Sscan(name[1:], &w.n)
		l.waiting = append(l.waiting, w)
		l.wake()
		all = append(all, asked{w, name})
	}
	return all
}

// got are the names of those that have their memory.
func got(all []asked) string {
	var names []string
	for _, a := range all {
		select {
		case <-a.taken:
			names = append(names, a.name)
		default:
		}
	}
	return strings.Join(names, ",")
}

// TestAddressesShareALane has requests ask a lane of 40 bytes in turn, and then some give their memory back.
func TestAddressesShareALane(t *testing.T) {
	for name, tc := range map[string]struct {
		asked, want  string
		given, after string // given back, and who has got something afterwards
	}{
		"one alone has three quarters":             {asked: "a10,a10,a10,a10", want: "a10,a10,a10"},
		"and not more":                             {asked: "a30,a5", want: "a30"},
		"the rest is for another":                  {asked: "a10,a10,a10,a10,b10", want: "a10,a10,a10,b10"},
		"two leave something":                      {asked: "a10,a10,a4,a4,b4,b4,b4,b2,b2,c3", want: "a10,a10,a4,a4,b4,b4,c3"},
		"the heaviest, alone":                      {asked: "a40", want: "a40"},
		"the heaviest has nobody beside it":        {asked: "a40,b1,a1", want: "a40", given: "a40", after: "a40,b1,a1"},
		"the heaviest of an address, after others": {asked: "a1,a40,a1", want: "a1", given: "a1", after: "a1,a40"},
		"the heaviest of another is not overtaken": {asked: "a10,b40,c1", want: "a10", given: "a10", after: "a10,b40"},
		"in turn, where one waits for more":        {asked: "a30,a30,a30,b30", want: "a30", given: "a30", after: "a30,b30"},
		"nobody else waits":                        {asked: "a30,a30", want: "a30", given: "a30", after: "a30,a30"},
		"of one address in their order":            {asked: "a20,a20,a5", want: "a20"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			l := newLane(40, 40)
			all := ask(l, tc.asked)
			g.Expect(got(all)).To(Equal(tc.want))
			if tc.given != "" {
				l.release(all[0].address, all[0].n)
				g.Expect(got(all)).To(Equal(tc.after))
			}
			g.Expect(l.free).To(BeNumerically(">=", 0))
		})
	}
}

// TestOneWhoGivesUpHoldsUpNobody has a heavy request wait until its deadline.
func TestOneWhoGivesUpHoldsUpNobody(t *testing.T) {
	g := NewWithT(t)
	l := newLane(40, 40)
	g.Expect(l.acquire(t.Context(), "a", 10)).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	heavy := make(chan error, 1)
	go func() { heavy <- l.acquire(ctx, "b", 40) }()
	g.Eventually(l.waiters).Should(Equal(1))
	light := make(chan error, 1)
	go func() { light <- l.acquire(t.Context(), "c", 1) }()
	g.Eventually(l.waiters).Should(Equal(2))
	cancel()
	g.Eventually(heavy).Should(Receive(MatchError(context.Canceled)))
	g.Eventually(light).Should(Receive(BeNil()))
	g.Expect(l.free).To(BeEquivalentTo(29))
}
