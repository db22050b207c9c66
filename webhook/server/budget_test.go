// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func newEndpoint() *endpoint {
	return &endpoint{
		path: path, handler: answering(admission.Allowed("")), requests: counts{},
		bodyTimeout: time.Minute, budget: newBudget(clock.RealClock{}),
	}
}

// with is a review whose object has a list of n+1 values.
func with(item string, n int) string {
	return strings.Replace(good, `"color":"blue"`, `"colors":[`+strings.Repeat(item+",", n)+item+`]`, 1)
}

// TestAHeavyRequestDoesNotHoldUpLighterOnes lets others take all the memory of a lane, and one more wait for it.
func TestAHeavyRequestDoesNotHoldUpLighterOnes(t *testing.T) {
	light, middle, heavy := good, with("{}", 3000), with("{}", 10_000)
	for name, tc := range map[string]struct {
		lane    int
		waits   string
		answers []string
	}{
		"the lane of the heaviest is full": {lane: 2, waits: heavy, answers: []string{light, middle}},
		"the lane between is full":         {lane: 1, waits: middle, answers: []string{light, heavy}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEndpoint()
			full := e.budget.lanes[tc.lane]
			size := full.free
			g.Expect(full.acquire(t.Context(), "others", size)).To(Succeed())
			waited := make(chan int)
			go func() { waited <- answer(e, tc.waits) }()
			g.Eventually(full.waiters).Should(Equal(1))
			for _, body := range tc.answers {
				g.Expect(answer(e, body)).To(Equal(http.StatusOK))
			}
			g.Expect(waited).NotTo(Receive())
			full.release("others", size)
			g.Eventually(waited).Should(Receive(Equal(http.StatusOK)))
			for i, lane := range newEndpoint().budget.lanes {
				g.Expect(e.budget.lanes[i].free).To(Equal(lane.free), "everything is given back")
				g.Expect(e.budget.lanes[i].held).To(BeEmpty())
			}
		})
	}
}

// TestARequestWaitsForMemoryUntilItsDeadline lets another one take all the memory of its lane.
func TestARequestWaitsForMemoryUntilItsDeadline(t *testing.T) {
	g := NewWithT(t)
	e := newEndpoint()
	g.Expect(e.budget.lanes[0].acquire(t.Context(), "others", e.budget.lanes[0].free)).To(Succeed())
	g.Expect(answerWithin(e, good, time.Millisecond)).To(Equal(http.StatusServiceUnavailable))
	g.Expect(e.budget.lanes[0].waiters()).To(BeZero())
}

// TestABodyHasNotTooManyValues counts a body's objects and values before it is decoded.
func TestABodyHasNotTooManyValues(t *testing.T) {
	g := NewWithT(t)
	e := newEndpoint()
	g.Expect(answer(e, with("1", maxElements-100))).To(Equal(http.StatusOK))
	g.Expect(answer(e, with("1", maxElements))).To(Equal(http.StatusRequestEntityTooLarge))
	g.Expect(answer(e, with("{}", maxElements))).To(Equal(http.StatusRequestEntityTooLarge))
	text := strings.Replace(good, "blue", strings.Repeat("{,", maxElements+1), 1)
	g.Expect(answer(e, text)).To(Equal(http.StatusOK), "a text is one value")
}

// TestElementsAreThoseOfADecoder counts in random JSON, with all that a string can hide.
func TestElementsAreThoseOfADecoder(t *testing.T) {
	g, random := NewWithT(t), rand.New(rand.NewPCG(15, 15))
	var value func(depth int) any
	value = func(depth int) any {
		switch kind := random.IntN(6); {
		case depth > 0 && kind == 0:
			list := make([]any, random.IntN(5))
			for i := range list {
				list[i] = value(depth - 1)
			}
			return list
		case depth > 0 && kind <= 2:
			object := map[string]any{}
			for range random.IntN(5) {
				object[hiding(random)] = value(depth - 1)
			}
			return object
		case kind == 3:
			return random.IntN(100)
		default:
			return hiding(random)
		}
	}
	for range 2000 {
		text, err := json.Marshal(value(5))
		g.Expect(err).NotTo(HaveOccurred())
		var back any
		g.Expect(json.Unmarshal(text, &back)).To(Succeed())
		objects, values := elements(text)
		wantObjects, wantValues := decoded(back)
		g.Expect([]int{objects, values}).To(Equal([]int{wantObjects, wantValues}), "%s", text)
	}
}

// hiding is a text of characters that mean something outside of strings, or at their end.
func hiding(random *rand.Rand) string {
	var text strings.Builder
	for range random.IntN(8) {
		text.WriteByte(`{},:[]"\\ x`[random.IntN(11)])
	}
	return text.String()
}

// decoded counts the objects, and the values that follow another one, of what a decoder has made of a text.
func decoded(value any) (objects, values int) {
	var inside []any
	switch value := value.(type) {
	case []any:
		inside = value
	case map[string]any:
		objects, inside = 1, slices.Collect(maps.Values(value))
	}
	for _, one := range inside {
		o, v := decoded(one)
		objects, values = objects+o, values+v
	}
	return objects, values + max(0, len(inside)-1)
}

// answer is the code of the answer to a call.
func answer(e *endpoint, body string) int { return answerWithin(e, body, longestTimeout) }

// answerWithin is the code of the answer to a call that waits for a time at most.
func answerWithin(e *endpoint, body string, timeout time.Duration) int {
	r := post(body)
	r.URL.RawQuery = "timeout=" + timeout.String()
	return code(e, r)
}

// code is the code of the answer to a call.
func code(e *endpoint, r *http.Request) int {
	_, err := e.answer(nil, r)
	if failure, ok := errors.AsType[*httpError](err); ok {
		return failure.code()
	}
	if err != nil {
		return 0
	}
	return http.StatusOK
}
