// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/act"
	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
)

// UserHeader is the name of the user, as argocd-server knows it. It overwrites what a browser sends, as every user whom it
// lets through has a name (argo-cd v3.5.7, server/extension/extension.go:849); it lets nobody through without a session
// (util/session/sessionmanager.go:545), unless its authentication is switched off. The header with the groups is not read:
// where the user has none, it is what the browser has sent (extension.go:852).
const UserHeader = "Argocd-Username"

// Bounds of an action.
const (
	mostBody   = 32 << 10
	mostReason = 200
)

// act does what a user of Argo CD wants done. argocd-server knows that user, and has checked that they may invoke the
// extension stepgate-act and get the Application.
func (s *server) act(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), mostTime)
	defer cancel()
	manager, err := approval.ManagerFor(one(r.Header, UserHeader))
	if err != nil {
		s.fail(w, r, refused(err.Error()+", so stepgate cannot act for you"))
		return
	}
	a, err := s.facts.asked(r.Header, "")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	wanted, err := actionOf(w, r, a)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer, err := s.facts.act(ctx, a, wanted, manager)
	s.log.Info("acted for a user of Argo CD", "user", manager, "verb", wanted.Verb, "applicationset", a.set.Name,
		"namespace", a.set.Namespace, "step", wanted.Step, "wave", wanted.Wave, "dryRun", wanted.DryRun, "done", answer.OK,
		"problem", err)
	dashboard.WriteJSON(w, http.StatusOK, answer)
}

// actionOf reads an action about the ApplicationSet of the Application that argocd-server names.
func actionOf(w http.ResponseWriter, r *http.Request, a asked) (wanted dashboard.Action, err error) {
	bad := func(text string) (dashboard.Action, error) {
		return dashboard.Action{}, &failure{http.StatusBadRequest, text}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return wanted, &failure{http.StatusUnsupportedMediaType, "an action is JSON"}
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&wanted); err != nil {
		return bad("this is no action")
	}
	switch {
	case a.alone():
		return bad("no ApplicationSet has this Application: there is nothing to pause or to approve")
	case a.set.Parent():
		parent, _ := policy.ParentNamed(a.set.Name)
		return bad("stepgate pauses and approves no waves from here: stepgate pause " + parent + " -n " + a.set.Namespace)
	case wanted.Namespace != a.set.Namespace || wanted.Name != a.set.Name:
		return bad("the Application that Argo CD has checked is not one of this ApplicationSet")
	case wanted.Revision != "":
		return bad("stepgate approves here what the step would deploy, and nothing else")
	case len(wanted.Reason) > mostReason || policy.Printable(wanted.Reason, mostReason) != wanted.Reason:
		return bad("the reason is too long, or has a character that cannot be shown")
	case wanted.Verb == dashboard.Approve && !wanted.DryRun && len(wanted.Approves) == 0:
		return bad("stepgate approves here what somebody was shown before: ask for a dry run first")
	}
	return wanted, nil
}

// act does what the command of that name does, and answers what that prints. The error is for the log.
func (f *Facts) act(
	ctx context.Context, a asked, wanted dashboard.Action, manager string,
) (answer dashboard.Answer, err error) {
	out := &bytes.Buffer{}
	verb := act.Verb{
		Objects: f.Writes, Manager: manager, Config: f.Config, Installed: true, Out: out, DryRun: wanted.DryRun,
	}
	name := types.NamespacedName{Namespace: a.set.Namespace, Name: a.set.Name}
	var steps []int
	if number := wanted.Number(); number != nil {
		steps = []int{*number}
	}
	switch wanted.Verb {
	case dashboard.Pause:
		err = (&act.Pause{Verb: verb, Steps: steps, Reason: wanted.Reason}).Do(ctx, name)
	case dashboard.Resume:
		err = (&act.Resume{Verb: verb, Steps: steps}).Do(ctx, name)
	case dashboard.Approve:
		answer.Approves, err = f.approve(ctx, a, wanted, verb)
	default:
		err = errors.New("stepgate pauses, resumes and approves here, and does nothing else")
	}
	answer.OK, answer.Command = err == nil, act.CommandOf(wanted)
	answer.Lines = strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
	var unanswered *url.Error
	switch {
	case errors.As(err, &unanswered):
		answer.Lines = append(answer.Lines, "the API server does not answer; stepgate's log says why")
	case err != nil && !errors.Is(err, command.ErrFound):
		answer.Lines = append(answer.Lines, err.Error())
	}
	return answer, err
}

func (f *Facts) approve(
	ctx context.Context, a asked, wanted dashboard.Action, verb act.Verb,
) (approves []string, err error) {
	ahead, ask, problem := f.preview.Outlook(a.set), rollout.Ask(nil), error(nil)
	if ahead.Settings.Candidates {
		ask = f.ask(ctx, a.set.Namespace, &problem)
	}
	proposal, err := rollout.Propose(ahead, ask, wanted.Number(), "")
	if err != nil {
		return nil, err
	}
	if problem != nil {
		proposal.Warnings = append(proposal.Warnings, problem.Error())
	}
	return proposal.Texts(), (&act.Approve{Verb: verb, Seen: wanted.Approves}).Do(ctx, a.set, proposal)
}
