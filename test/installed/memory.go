// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"sync"
	"time"
)

// Memory is the largest anonymous memory of a release's replicas, sampled ten times a second. A container's limit
// bounds it: of the resident memory, the rest are pages of the program itself (66 MiB), which the kernel drops when it
// needs room.
type Memory struct {
	mu  sync.Mutex
	mib float64
}

// SampleMemory samples until the environment ends.
func (r *Release) SampleMemory() *Memory {
	m, ended := &Memory{}, make(chan struct{})
	r.env.Cleanup(func() { close(ended) })
	go func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			for _, replica := range r.Replicas() {
				// it may have been killed
				if mib, err := replica.AnonymousMiB(); err == nil {
					m.mu.Lock()
					m.mib = max(m.mib, mib)
					m.mu.Unlock()
				}
			}
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	}()
	return m
}

// Restart forgets the samples so far.
func (m *Memory) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mib = 0
}

// MaxMiB is the largest sample so far, of any replica.
func (m *Memory) MaxMiB() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mib
}
