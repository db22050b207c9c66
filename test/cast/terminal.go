// SPDX-License-Identifier: Apache-2.0

// Package cast runs a program in a terminal of a known size, and records what it draws: as an asciicast, which players
// play, and as an animated SVG, which pages show.
package cast

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Clear is what a program writes before it draws its screen anew.
const Clear = "\x1b[H\x1b[2J"

// leave is what it writes before it goes back to the first screen.
const leave = "\x1b[?1049l"

// Recording is what a program has drawn.
type Recording struct {
	Width, Height int
	mu            sync.Mutex
	began         time.Time
	output        []output
}

// output is a piece of text, and when it came.
type output struct {
	at   time.Duration
	text string
}

// Start starts a program in a terminal, and records what it draws until it ends. end waits for the end of the
// recording.
func Start(command *exec.Cmd, width, height uint16) (r *Recording, end func() error, err error) {
	terminal, program, err := open(width, height)
	if err != nil {
		return nil, nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = program, program, program
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r = &Recording{Width: int(width), Height: int(height), began: time.Now()}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	_ = program.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(r, terminal) // the terminal fails when the program ends
	}()
	return r, func() error {
		<-done // all is read that was written
		_ = terminal.Close()
		return command.Wait()
	}, nil
}

// Write records a piece of text.
func (r *Recording) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output = append(r.output, output{time.Since(r.began), string(text)})
	return len(text), nil
}

// Text is everything that the program has written so far.
func (r *Recording) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all strings.Builder
	for _, o := range r.output {
		all.WriteString(o.text)
	}
	return all.String()
}

// open makes a pair of pseudo-terminals: what is written to program can be read from terminal.
func open(width, height uint16) (terminal, program *os.File, err error) {
	if terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(terminal.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("number of the terminal: %w", err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	return terminal, program, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: height, Col: width})
}

// Frame is a screen, and when it was drawn.
type Frame struct {
	At    time.Duration
	Lines []string
}

// Text is the frame without colours.
func (f Frame) Text() string { return escapes.ReplaceAllString(strings.Join(f.Lines, "\n"), "") }

// Frames are the screens so far. A screen that reads as the one before, but for the numbers in lines that begin with
// one of the ignored texts, is left out.
func (r *Recording) Frames(ignored ...string) []Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	var frames []Frame
	var all strings.Builder
	times := map[int]time.Duration{}
	for _, o := range r.output {
		times[all.Len()] = o.at
		all.WriteString(o.text)
	}
	at, position, last := time.Duration(0), 0, ""
	for i, part := range strings.Split(all.String(), Clear) {
		for p := position; p <= position+len(part); p++ {
			if t, begins := times[p]; begins {
				at = t
			}
		}
		position += len(part) + len(Clear)
		part, _, _ = strings.Cut(part, leave)
		frame := Frame{At: at, Lines: strings.Split(strings.ReplaceAll(part, "\r", ""), "\n")}
		if key := frame.key(ignored); i > 0 && key != last {
			frames, last = append(frames, frame), key
		}
	}
	return frames
}

func (f Frame) key(ignored []string) string {
	var kept []string
	for line := range strings.SplitSeq(f.Text(), "\n") {
		for _, begin := range ignored {
			if strings.HasPrefix(line, begin) {
				line = strings.Map(func(r rune) rune {
					if r >= '0' && r <= '9' || r == 'm' || r == 's' {
						return -1
					}
					return r
				}, line)
			}
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}
