// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	// progressAfter is how long something takes at least that shows its progress.
	progressAfter = time.Second
	// progressWidth is the number of columns of the bar itself.
	progressWidth = 30
)

// Progress shows on a terminal how far something is that takes longer than a second. It shows nothing elsewhere.
type Progress struct {
	mu   sync.Mutex
	show *time.Timer
	bar  *progressbar.ProgressBar // nil until it is shown
	done int
	over bool
}

// NewProgress returns the Progress of what a command does, which it shows where the command prints its errors. all is
// how much there is to do; 0 if that is not known.
func NewProgress(errOut io.Writer, getenv func(string) string, what string, all int) *Progress {
	p := &Progress{}
	if Of(errOut, getenv).Live {
		p.after(progressAfter, errOut, what, all)
	}
	return p
}

// after shows it after a time.
func (p *Progress) after(wait time.Duration, out io.Writer, what string, all int) {
	if all == 0 {
		all = -1
	}
	p.show = time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.over {
			return
		}
		p.bar = progressbar.NewOptions(all, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(progressWidth), progressbar.OptionSetPredictTime(false),
			progressbar.OptionClearOnFinish(), progressbar.OptionShowCount())
		_ = p.bar.Set(p.done)
	})
}

// At says how much is done.
func (p *Progress) At(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done = done; p.bar != nil {
		_ = p.bar.Set(done)
	}
}

// End takes it away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.show != nil {
		p.show.Stop()
	}
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
