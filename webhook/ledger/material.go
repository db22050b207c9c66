// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"hash/maphash"
	"time"

	"github.com/stepgate/stepgate/webhook/cluster"
)

// material stands for what is worth a write. That a completion was seen once more is not: every comparison shows that.
func material(seed maphash.Seed, members []cluster.Kept) (sum uint64) {
	for i := range members {
		sum += materialOf(seed, &members[i]) // in any order
	}
	return sum
}

func materialOf(seed maphash.Seed, m *cluster.Kept) uint64 {
	h := facts{}
	h.SetSeed(seed)
	h.texts(string(m.UID), m.Parameters, m.Around, m.Found.Revised, m.Found.Parameters, m.Found.Around)
	h.times(m.OperatedAt, m.FullAt, m.HealthySince, m.BrokenAt, m.AppliedAt)
	h.flags(m.Idle, m.Broken)
	for _, s := range m.Ran {
		h.texts(s.Key, s.Revision)
	}
	for _, compared := range m.Compared {
		h.flags(true)
		for _, s := range compared {
			h.texts(s.Key, s.Revision)
		}
	}
	for i := range m.Completions {
		c := &m.Completions[i]
		h.times(c.OperatedAt, c.Since)
		h.flags(c.Altered, c.Doubted)
		h.texts(c.By)
		for _, s := range c.Sources {
			h.texts(s.Key, s.Revision)
		}
	}
	return h.Sum64()
}

// facts hash what is written into them.
type facts struct{ maphash.Hash }

func (f *facts) texts(all ...string) {
	for _, s := range all {
		_, _ = f.WriteString(s)
		_ = f.WriteByte(0)
	}
}

func (f *facts) times(all ...time.Time) {
	for _, t := range all {
		maphash.WriteComparable(&f.Hash, t.Unix())
	}
}

func (f *facts) flags(all ...bool) {
	for _, b := range all {
		maphash.WriteComparable(&f.Hash, b)
	}
}
