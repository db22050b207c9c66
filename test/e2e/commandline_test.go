// SPDX-License-Identifier: Apache-2.0

package e2e

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

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/cast"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// terminalWidth and terminalHeight are those of the terminal in which `stepgate get --watch` runs.
	terminalWidth, terminalHeight = 80, 30
	// shownFor is for how long the recording shows what holds the rollout up.
	shownFor = 4 * time.Second
	// seenWithin is how long a command may take to show a change.
	seenWithin = 30 * time.Second
)

// commandLine is one rollout with the gate, watched by the commands.
type commandLine struct {
	kubeconfig string
	// folder gets the recording; empty if nobody wants it.
	folder string
}

// measureCommandLine plays a rollout that `get --watch` and `wait` look at: they have to show what happens, when it
// happens.
func (s *suite) measureCommandLine(ctx context.Context, folder string) error {
	c := &commandLine{kubeconfig: script.Get(s.AdminKubeconfig()), folder: folder}
	outcomes, err := player{s, []mode{on}, 1}.playOnce(ctx,
		scenario{key: "shop", title: "watched by the command line", each: 4, play: c.play})
	if err != nil {
		return err
	}
	if o := outcomes[on]; !o.completed() || o.outOfOrder() > 0 {
		return fmt.Errorf("the rollout that the command line watches: %d out of order, completed %t", o.outOfOrder(),
			o.completed())
	}
	return nil
}

// command is `stepgate` about the namespace of a rollout.
func (c *commandLine) command(r *rollout, args ...string) *exec.Cmd {
	command := exec.CommandContext(r.ctx, r.Binary, append(args, "--kubeconfig", c.kubeconfig, "-n", string(r.mode))...)
	command.Env = append(os.Environ(), "TERM=xterm-256color")
	return command
}

// play lets a commit wait in the middle, because an Application of the second step is Degraded, and then repairs it.
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
	r.untilWithin(seenWithin, "the Degraded Application on the screen", func() bool {
		return strings.Contains(show(), "✖  "+bad.name)
	})
	r.pause(shownFor)
	text := script.Get(c.explain(r, r.one("prod").name))
	if !strings.Contains(text, "1. "+bad.name+" (NotHealthy: Degraded)") {
		script.Fail("stepgate explain does not name %s:\n%s", bad.name, text)
	}
	r.health(bad, "Healthy")
	r.until("the end of the rollout", r.isComplete)
	complete := time.Now()
	script.Mustf(wait.Wait(), "stepgate wait: %s", said)
	r.untilWithin(seenWithin, "the end of the rollout on the screen", func() bool {
		return strings.Contains(show(), "Complete")
	})
	r.out.Line("command line: stepgate wait ended %.1f s after the rollout, and said:\n%s",
		time.Since(complete).Seconds(), indented(said.String()))
	r.pause(time.Second)
	script.Must(watch.Process.Signal(os.Interrupt))
	script.Must(ended())
	frames := recording.Frames("Status", "Last change")
	script.Must(inOrder(frames))
	script.Must(c.generated(r))
	script.Must(c.plugin(r))
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

// generated has the real argocd generate the Applications of the ApplicationSet, from which lint and simulate go on.
func (c *commandLine) generated(r *rollout) error {
	set := r.applicationSet()
	set.ObjectMeta = metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}
	set.SetGroupVersionKind(argo.ApplicationSetSchemaGroupVersionKind)
	set.Status = argo.ApplicationSetStatus{}
	text, err := yaml.Marshal(set)
	if err != nil {
		return err
	}
	file := filepath.Join(r.Dir(), "appset.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	apps, err := r.clis[r.mode].Generate(r.ctx, file)
	if err != nil {
		return fmt.Errorf("argocd appset generate: %w", err)
	}
	for command, want := range map[string]string{"lint": "12 Applications", "simulate": "complete after"} {
		asked := exec.CommandContext(r.ctx, r.Binary, command, "-f", file, "-f", "-")
		asked.Stdin = bytes.NewReader(apps)
		text, err := asked.CombinedOutput()
		if err != nil || !strings.Contains(string(text), want) {
			return fmt.Errorf("stepgate %s on what argocd has generated: %w: %s", command, err, text)
		}
	}
	return nil
}

// plugin lets the real argocd run stepgate by the name argocd-stepgate.
func (c *commandLine) plugin(r *rollout) error {
	folder := filepath.Join(r.Dir(), "plugins")
	if err := errors.Join(os.MkdirAll(folder, 0o700),
		os.Symlink(r.Binary, filepath.Join(folder, "argocd-stepgate"))); err != nil {
		return err
	}
	text, err := r.clis[r.mode].Plugin(r.ctx, folder, "stepgate", "get", "--help")
	if err == nil && !strings.Contains(text, "  argocd stepgate get [APPSET]") {
		err = errors.New("the usage does not show the name that was used")
	}
	if err != nil {
		return fmt.Errorf("argocd stepgate: %w: %s", err, text)
	}
	return nil
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
	const title = "stepgate get --watch during a real rollout: a Degraded Application holds the last step up until it " +
		"is repaired"
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		return err
	}
	var asciicast, svg bytes.Buffer
	if err := errors.Join(cast.WriteAsciicast(&asciicast, r, title, frames),
		cast.WriteSVG(&svg, r, title, frames)); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(c.folder, "get-watch.cast"), asciicast.Bytes(), 0o644),
		os.WriteFile(filepath.Join(c.folder, "get-watch.svg"), svg.Bytes(), 0o644),
	)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
}
