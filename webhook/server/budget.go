package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/semaphore"
)

const (
	// freeBody is how much of a body is read without a reservation.
	freeBody = 16 << 10
	// readingBudget bounds the bytes of bodies that are read at a time, beyond freeBody of each.
	readingBudget = 16 << 20
	// maxElements bounds the JSON objects, and the values that follow another one, of a body. Two objects of the largest size that an API
	// server stores, with nothing but managed fields, have fewer.
	maxElements = 500_000
	// objectCost and valueCost are about the memory that a decoded JSON object and any other value take, in bytes.
	objectCost = 800
	valueCost  = 100
	// lightCost is the highest cost of a request that does not wait for heavy ones.
	lightCost   = 4 << 20
	lightBudget = 24 << 20
	heavyBudget = 40 << 20
)

// busyText is the answer to a request for which there is no memory in time.
const busyText = "stepgate is busy with other large requests; try again"

// budget bounds the memory that requests take at a time, so that no number of clients and no body can use up the memory of the Pod.
// Requests of usual size do not wait for large ones. A request waits until its deadline, and then fails with HTTP 503.
type budget struct {
	reading, light, heavy *semaphore.Weighted
}

func newBudget() *budget {
	return &budget{
		reading: semaphore.NewWeighted(readingBudget),
		light:   semaphore.NewWeighted(lightBudget),
		heavy:   semaphore.NewWeighted(heavyBudget),
	}
}

// handling reserves the memory for decoding and handling a body. release gives it back.
func (b *budget) handling(ctx context.Context, body []byte) (release func(), err error) {
	objects, values := bytes.Count(body, []byte("{")), bytes.Count(body, []byte(","))
	if max(objects, values) > maxElements {
		return nil, newHTTPError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the AdmissionReview has more than %d JSON objects or values", maxElements))
	}
	lane, cost := b.light, costOf(len(body), objects, values)
	if cost > lightCost {
		lane, cost = b.heavy, min(cost, heavyBudget)
	}
	if err := lane.Acquire(ctx, cost); err != nil {
		return nil, newHTTPError(http.StatusServiceUnavailable, busyText)
	}
	return func() { lane.Release(cost) }, nil
}

// costOf estimates the memory that a body takes, in bytes. Small objects, as in [{},{},{}], take far more decoded than they
// take as text.
func costOf(length, objects, values int) int64 {
	return 2*int64(length) + objectCost*int64(objects) + valueCost*int64(values)
}

// receiving reserves the memory for reading a body of a length, which is negative when it is not known: everything at once, so that no two
// wait for each other. release gives it back.
func (b *budget) receiving(ctx context.Context, length int64) (release func(), err error) {
	if length < 0 {
		length = maxBody
	}
	beyond := max(0, length-freeBody)
	if err := b.reading.Acquire(ctx, beyond); err != nil {
		return nil, newHTTPError(http.StatusServiceUnavailable, busyText)
	}
	return func() { b.reading.Release(beyond) }, nil
}
