// SPDX-License-Identifier: Apache-2.0

package browser

import "time"

// frames measures the longest time between two frames, in ms.
const frames = `(() => {
	window.longest = 0
	let last = performance.now()
	const next = now => { window.longest = Math.max(window.longest, now - last); last = now; requestAnimationFrame(next) }
	requestAnimationFrame(now => { last = now; requestAnimationFrame(next) })
})()`

// LongestFrame is the longest time between two frames of the page while something happens.
func (b *Browser) LongestFrame(meanwhile func()) time.Duration {
	b.t.Helper()
	b.Evaluate(frames, nil)
	meanwhile()
	var ms float64
	b.Evaluate("window.longest", &ms)
	return time.Duration(ms * float64(time.Millisecond))
}
