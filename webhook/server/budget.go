// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/utils/clock"
)

const (
	// maxElements bounds the JSON objects, and the values that follow another one, of a body. Two objects of the
	// largest size that an API server stores, with nothing but managed fields, have fewer.
	maxElements = 500_000
	// objectCost and valueCost are about the memory that a decoded JSON object and any other value take, in bytes.
	objectCost = 800
	valueCost  = 100
	// maxCost is what the heaviest request reserves, in bytes: it is handled with no other heavy one beside it.
	maxCost = 40 << 20
)

// busyText is the answer to a request for which there is no memory in time.
const busyText = "stepgate is busy with other large requests; try again"

// budget bounds the memory that requests take at a time, so that no number of clients and no body can use up the memory
// of the Pod. Requests of usual size do not wait for large ones. A request waits until its deadline, and then fails
// with HTTP 503.
type budget struct {
	usual, large *arrivals
	// lanes are for decoding and handling. A request is in the first one that takes its cost, and waits for others in
	// the same lane only.
	lanes   []*lane
	overdue overdue
}

func newBudget(clock clock.Clock) *budget {
	return &budget{
		usual: newArrivals(clock, usualBudget, false),
		large: newArrivals(clock, largeBudget, true),
		lanes: []*lane{newLane(1<<20, 20<<20), newLane(4<<20, 12<<20), newLane(maxCost, maxCost)}, overdue: newOverdue(),
	}
}

// receiving returns a body that is about to arrive from a remote address. Its announced length is negative if nobody
// knows it. cut makes its reads fail, from any goroutine.
func (b *budget) receiving(address string, announced int64, cut func()) *arrival {
	if announced < 0 {
		announced = maxBody
	}
	in := b.large
	if announced < usualBody {
		in = b.usual
	}
	return &arrival{in: in, address: address, announced: announced, cut: cut, since: in.clock.Now()}
}

// handling reserves the memory for decoding and handling a body, and for the body itself. It fails with HTTP 413 if the
// body has too many elements, and with HTTP 503 if there is no memory until ctx is done.
func (b *budget) handling(ctx context.Context, address string, body []byte) (*reservation, error) {
	objects, values := elements(body)
	if max(objects, values) > maxElements {
		return nil, newHTTPError(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the AdmissionReview has more than %d JSON objects or values", maxElements))
	}
	cost := min(costOf(len(body), objects, values), maxCost)
	in := b.lanes[slices.IndexFunc(b.lanes, func(l *lane) bool { return cost <= l.most })]
	if err := in.acquire(ctx, address, cost); err != nil {
		return nil, newHTTPError(http.StatusServiceUnavailable, busyText)
	}
	return &reservation{in: in, overdue: &b.overdue, address: address, cost: cost}, nil
}

// elements counts the objects of a JSON text, and the values that follow another one. What it counts in a text that is
// not JSON has no meaning: the decoder looks at the whole text before it decodes anything.
func elements(text []byte) (objects, values int) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			objects++
		case ',':
			values++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return objects, values
}

// costOf estimates the memory that a body takes, in bytes: its text, the copies of its two objects, and what is
// decoded. Small objects, as in [{},{},{}], take far more decoded than they take as text.
func costOf(length, objects, values int) int64 {
	return 3*int64(length) + objectCost*int64(objects) + valueCost*int64(values)
}
