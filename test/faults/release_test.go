// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/faultproxy"
)

const (
	// refreshRate and refreshBurst are the token bucket of each replica for refreshes, eventRate and eventBurst for
	// Events.
	refreshRate, refreshBurst = 20, 50
	eventRate, eventBurst     = 2, 100
	// slack is how many seconds of tokens may arrive late, because the machine stalls.
	slack = 1
)

// TestF39_ReleaseOfMany has many Applications of many ApplicationSets wait, and then the turn of all of them come at
// once. stepgate holds each of them, writes nothing while they wait, and releases every one, at the rate of its token
// bucket. The suite plays Argo CD.
func TestF39_ReleaseOfMany(t *testing.T) {
	f := begin(t, "F39 1,000 Applications of 50 ApplicationSets wait, and may start at once")
	var records []*faultproxy.Record
	for _, proxy := range f.proxies {
		record := &faultproxy.Record{}
		records = append(records, record)
		proxy.Set(record.Note)
	}
	count := func(kind string) int {
		n := 0
		for _, record := range records {
			n += record.Count(kind)
		}
		return n
	}
	c := f.newCrowd("many", times(50), 20)
	c.syncAll()
	f.Expect(c.held.Load()).To(BeEquivalentTo(c.waiting()), "operations that are held")
	f.inject(c.waiting())
	waited := time.Now()
	pass(5 * time.Second)
	f.Expect(count(faultproxy.Refresh)).To(BeZero(), "refreshes of what waits")

	began := time.Now()
	stop := c.playArgoCD()
	c.open()
	f.Eventually(c.started.Load).WithTimeout(15*time.Minute).Should(BeEquivalentTo(c.waiting()), func() string {
		return fmt.Sprintf("%d refreshes requested", count(faultproxy.Refresh))
	})
	took := time.Since(began)
	stop()
	for i, record := range records {
		f.Expect(record.Fullest(faultproxy.Refresh, refreshRate)).To(BeNumerically("<=", refreshBurst+slack*refreshRate),
			"refreshes of replica %d", i)
		f.Expect(record.Fullest(faultproxy.PostEvent, eventRate)).To(BeNumerically("<=", eventBurst+slack*eventRate),
			"Events of replica %d", i)
	}
	f.Expect(count(faultproxy.Refresh)).To(BeNumerically("<=", c.waiting()*3/2),
		"refreshes: the replicas see each other's")
	f.note("%d Applications waited for %s, and had started %s after their turn had come: %d refreshes requested, %d "+
		"Events, held again %d times",
		c.waiting(), began.Sub(waited).Round(time.Second), took.Round(100*time.Millisecond), count(faultproxy.Refresh),
		count(faultproxy.PostEvent),
		c.held.Load()-int64(c.waiting()))
}
