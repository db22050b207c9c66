// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		history string
		// want is the number of the word from which on nothing stood in the way of prod, counted from 0; -1 is never.
		want int
	}{
		"dev is Synced at the change last": {
			history: "dev:new prod:new prod:sees2 dev:sees2 dev:start dev:ended2 dev:same2 prod:sees2 dev:same2 prod:start", want: 6,
		},
		"prod is compared with the change last": {
			history: "dev:new prod:new dev:sees2 dev:same2 prod:sees2 dev:same2 prod:sees2 prod:start", want: 4,
		},
		"dev syncs once more": {
			history: "dev:new prod:new prod:sees2 dev:same2 dev:start dev:done2 prod:start", want: 5,
		},
		"dev is sick": {
			history: "dev:new prod:new prod:sees2 dev:same2 dev:sick prod:start", want: -1,
		},
		"dev is not Synced": {
			history: "dev:new prod:new prod:sees2 dev:sees2 prod:start", want: -1,
		},
		"prod was never compared with the change": {
			history: "dev:new prod:new dev:same2 prod:start", want: -1,
		},
		"dev is gone": {
			history: "dev:new prod:new prod:sees2 dev:sees2 dev:gone prod:start", want: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			changes := []State{{}, {Revision: "1"}, {Revision: "2"}}
			rollout := Rollout{
				Applications: []Application{{Name: "dev", Changes: changes}, {Name: "prod", Step: 1, Changes: changes}},
				ChangedAt:    []time.Time{moment(-2), moment(-1), moment(0)},
			}
			var open time.Time
			for _, s := range Judge(rollout, history(tc.history)) {
				if s.Application == "prod" {
					open = s.Open
				}
			}
			want := time.Time{}
			if tc.want >= 0 {
				want = moment(tc.want)
			}
			g.Expect(open).To(Equal(want))
		})
	}
}
