package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/cast"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// terminalWidth and terminalHeight are those of the terminal in which `stepgate get --watch` runs.
	terminalWidth, terminalHeight = 80, 30
	// shownFor is for how long the recording shows what holds the rollout up.
	shownFor = 4 * time.Second
	// seenWithin is how long a command may take to show a change.
	seenWithin = 5 * time.Second
)

// commandLine is one rollout with the gate, watched by the commands.
type commandLine struct {
	kubeconfig string
	// folder gets the recording; empty where nobody wants it.
	folder string
}

// measureCommandLine plays a rollout that `get --watch` and `wait` look at: they have to show what happens, when it happens.
func (s *suite) measureCommandLine(ctx context.Context, folder string) error {
	c := &commandLine{kubeconfig: script.Get(s.AdminKubeconfig()), folder: folder}
	outcomes, err := player{s, []mode{on}, 1}.playOnce(ctx, scenario{key: "shop", title: "watched by the command line", each: 4, play: c.play})
	if err != nil {
		return err
	}
	if o := outcomes[on]; !o.completed() || o.outOfOrder() > 0 {
		return fmt.Errorf("the rollout that the command line watches: %d out of order, completed %t", o.outOfOrder(), o.completed())
	}
	return nil
}

// command is `stepgate` about the namespace of a rollout.
func (c *commandLine) command(r *rollout, args ...string) *exec.Cmd {
	command := exec.CommandContext(r.ctx, r.Binary, append(args, "--kubeconfig", c.kubeconfig, "-n", string(r.mode))...)
	command.Env = append(os.Environ(), "TERM=xterm-256color")
	return command
}

// play has a commit wait in the middle, because an Application of the second step is Degraded, and then repairs it.
func (c *commandLine) play(r *rollout) {
	watch := c.command(r, "get", r.name, "--watch")
	recording, ended, err := cast.Start(watch, terminalWidth, terminalHeight)
	script.Must(err)
	show := func() string {
		frames := recording.Frames("Status", "Last change")
		if len(frames) == 0 {
			return ""
		}
		return frames[len(frames)-1].Text()
	}
	r.until("the first screen", func() bool { return strings.Contains(show(), "Complete") })
	r.begin()
	bad := r.in("qa")[1]
	r.version("2", r.members, bad)
	wait, said := c.command(r, "wait", r.name, "--revision", r.members[0].revision), &bytes.Buffer{}
	wait.Stdout = said
	script.Must(wait.Start())
	r.refresh(r.in("prod", "qa", "dev")...)
	r.until("a sync of "+bad.name, func() bool { return strings.Contains(show(), bad.name+"  Progressing") })
	r.health(bad, "Degraded")
	r.untilWithin(seenWithin, "the Degraded Application on the screen", func() bool { return strings.Contains(show(), "✖  "+bad.name) })
	r.pause(shownFor)
	text := script.Get(c.explain(r, r.one("prod").name))
	if !strings.Contains(text, "1. "+bad.name+" (step 2): NotHealthy: Degraded") {
		script.Fail("stepgate explain does not name %s:\n%s", bad.name, text)
	}
	r.health(bad, "Healthy")
	r.until("the end of the rollout", r.isComplete)
	complete := time.Now()
	script.Mustf(wait.Wait(), "stepgate wait: %s", said)
	r.untilWithin(seenWithin, "the end of the rollout on the screen", func() bool { return strings.Contains(show(), "Complete") })
	fmt.Printf("command line: stepgate wait ended %.1f s after the rollout, and said:\n%s", time.Since(complete).Seconds(), indented(said.String()))
	r.pause(time.Second)
	script.Must(watch.Process.Signal(os.Interrupt))
	script.Must(ended())
	frames := recording.Frames("Status", "Last change")
	script.Must(inOrder(frames))
	if c.folder != "" {
		script.Must(c.write(recording, frames))
	}
}

// explain is what `stepgate explain` prints about an Application that waits.
func (c *commandLine) explain(r *rollout, name string) (string, error) {
	command := c.command(r, "explain", name)
	command.Env = append(command.Env, "COLUMNS=80")
	text, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	} else if err == nil {
		err = fmt.Errorf("%s may start: %s", name, text)
	}
	return string(text), err
}

var stepHeading = regexp.MustCompile(`^(✔|⟳|◌|-) step \d`)

// inOrder asks that no screen shows work in a step before an earlier one is done.
func inOrder(frames []cast.Frame) error {
	for _, f := range frames {
		open := false
		for _, line := range f.Lines {
			heading := stepHeading.FindStringSubmatch((cast.Frame{Lines: []string{line}}).Text())
			if heading == nil {
				continue
			}
			if open && heading[1] == "⟳" {
				return fmt.Errorf("a screen shows work in a step whose turn has not come:\n%s", f.Text())
			}
			open = open || heading[1] != "✔"
		}
	}
	return nil
}

// write writes the recording.
func (c *commandLine) write(r *cast.Recording, frames []cast.Frame) error {
	const title = "stepgate get --watch during a real rollout: a Degraded Application holds the last step up until it is repaired"
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		return err
	}
	var asciicast, svg bytes.Buffer
	if err := errors.Join(cast.WriteAsciicast(&asciicast, r, title, frames), cast.WriteSVG(&svg, r, title, frames)); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(c.folder, "get-watch.cast"), asciicast.Bytes(), 0o644),
		os.WriteFile(filepath.Join(c.folder, "get-watch.svg"), svg.Bytes(), 0o644),
	)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
