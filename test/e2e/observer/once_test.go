// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		history string
		since   uint64
		want    map[int]int
	}{
		"one after the other": {
			history: "a:start a:done2 b:start b:done2",
			want:    map[int]int{0: 1},
		},
		"one is requested while the other runs": {
			history: "a:start a:runs2 b:start a:done2 b:done2",
			want:    map[int]int{0: 2},
		},
		"one is requested in the moment in which the other ends, and after it": {
			history: "a:start a:runs2 a:done2 b:start b:failed2 a:start a:done2",
			want:    map[int]int{0: 1},
		},
		"in two steps": {
			history: "a:start c:start b:start c:done2 d:start b:done2 a:done2",
			want:    map[int]int{0: 2, 1: 1},
		},
		"the same Application twice": {
			history: "a:start a:runs2 a:retries a:runs2 a:done2",
			want:    map[int]int{0: 1},
		},
		"one that is gone has no operation": {
			history: "a:start a:gone b:start b:done2",
			want:    map[int]int{0: 1},
		},
		"only those of before": {
			history: "a:start b:start a:done2 b:done2 a:start a:done2", since: 4,
			want: map[int]int{0: 1},
		},
		"one of before that still runs": {
			history: "a:start b:start b:done2 a:done2", since: 1,
			want: map[int]int{0: 2},
		},
		"one of another rollout": {
			history: "a:start x:start a:done2 x:done2",
			want:    map[int]int{0: 1},
		},
		"nothing started": {
			history: "a:sees2 a:same2",
			want:    map[int]int{0: 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			applications := []Application{{Name: "a"}, {Name: "b"}, {Name: "c", Step: 1}, {Name: "d", Step: 1}}
			NewWithT(t).Expect(AtOnce(applications, history(tc.history), tc.since)).To(Equal(tc.want))
		})
	}
}
