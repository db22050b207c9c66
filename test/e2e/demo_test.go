// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// late is when the demo's git server tells Argo CD about the Applications that it did not mention at first.
const late = 10 * time.Second

// demo plays one rollout without the gate and with it, and shows both as timelines.
func demo(ctx context.Context, s *suite) error {
	out := report.New(os.Stdout)
	out.Heading("An ApplicationSet with three steps: 1 dev, 2 qa, 3 prod")
	out.Line("They share a repository. A commit changes all three, and Argo CD happens to be told about prod first; it " +
		"would")
	out.Line("look at dev and qa %.0f s later. Everything here is real: Argo CD %s, git, the API server.", late.Seconds(),
		s.argo.Version)
	sc := scenario{key: "guestbook", each: 1, play: toldAboutProd}
	all := table{sc.key: {}}
	if err := (player{s, []mode{off, on}, 2}).prepare(ctx, []scenario{sc}, all); err != nil {
		return err
	}
	without, with := all[sc.key][off], all[sc.key][on]
	for _, o := range []*outcome{without, with} {
		if o.play(); o.problem != nil {
			return fmt.Errorf("%s: %w", o.rollout.mode, o.problem)
		}
		if err := o.show(out); err != nil {
			return err
		}
	}
	out.Heading("In short")
	out.Line("without stepgate: %s", sentence(without))
	out.Line("with stepgate:    %s", sentence(with))
	if with.outOfOrder() > 0 || !with.completed() || without.outOfOrder() == 0 {
		return fmt.Errorf("stepgate promises something else")
	}
	return nil
}

func toldAboutProd(r *rollout) {
	r.begin()
	r.version("2", r.members)
	r.refreshAtOnce(r.in("prod")...)
	if r.wait(time.Until(r.began.Add(late)), r.isComplete) == nil {
		return
	}
	script.Must(r.ctx.Err())
	r.refreshAtOnce(r.in("dev", "qa")...)
}

func (o *outcome) show(out *report.Printer) error {
	r := o.rollout
	heading := "Without stepgate"
	if r.mode == on {
		heading = "With stepgate"
	}
	out.Heading(heading)
	writes, err := r.audit.writes()
	if err != nil {
		return err
	}
	events, repeated, err := o.timeline(writes)
	if err != nil {
		return err
	}
	out.Line("%s  %-4s  commit %.7s lands", event{at: r.changedAt[1]}.offset(r.began), "git",
		r.members[0].changes[1].Revision)
	for _, e := range events {
		text := out.Wrap(e.text, 15)
		if e.wrong {
			text = out.Paint(screen.Bad, text)
		}
		if e.good {
			text = out.Paint(screen.Good, text)
		}
		out.Line("%s  %-4s  %s", e.offset(r.began), e.env, text)
	}
	if o.completed() {
		out.Line("%s  all   at the commit", event{at: r.finished}.offset(r.began))
	}
	if repeated > 0 {
		out.Line("%s", out.Paint(screen.Faint,
			fmt.Sprintf("         (Argo CD started %d of these syncs again before it noticed that they ran; left out)",
				repeated)))
	}
	return nil
}

func sentence(o *outcome) string {
	var order []string
	for _, s := range o.starts {
		if env := environments[s.Step]; !slices.Contains(order, env) {
			order = append(order, env)
		}
	}
	text := "started " + strings.Join(order, ", ")
	if wrong := early(o.starts); wrong > 0 {
		text += fmt.Sprintf(" (%d out of order)", wrong)
	} else {
		text += " (in order)"
	}
	if !o.completed() {
		return text + "; not complete"
	}
	return text + fmt.Sprintf("; complete after %.1f s", o.took.Seconds())
}

// early counts the Applications that started before their turn.
func early(starts []observer.Start) int {
	names := map[string]bool{}
	for _, s := range starts {
		if s.OutOfOrder() {
			names[s.Application] = true
		}
	}
	return len(names)
}
