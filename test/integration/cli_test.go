// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	show "github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/cast"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/process"
)

// answer is what a command line printed, and its exit code.
type answer struct {
	out, err string
	code     int
}

// ask runs `stepgate` as a user of the cluster, in the namespace of the rollout.
func (r *rollout) ask(args ...string) answer {
	r.t.Helper()
	command, out := r.command(args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Expect(err).NotTo(HaveOccurred())
	}
	return answer{out.String(), stderr.String(), command.ProcessState.ExitCode()}
}

func (r *rollout) command(args ...string) (*exec.Cmd, *process.Output) {
	r.t.Helper()
	kubeconfig, err := shared.AdminKubeconfig()
	r.Expect(err).NotTo(HaveOccurred())
	command, out := exec.CommandContext(r.ctx, shared.Binary,
		append(args, "--kubeconfig", kubeconfig, "-n", r.namespace)...), &process.Output{}
	command.Stdout = out
	return command, out
}

func (r *rollout) explained(env string, args ...string) (x show.Explanation, code int) {
	r.t.Helper()
	a := r.ask(append([]string{"explain", "engineering-" + env + "-guestbook", "-o", "json"}, args...)...)
	r.Expect(a.err).To(BeEmpty())
	r.Expect(json.Unmarshal([]byte(a.out), &x)).To(Succeed())
	return x, a.code
}

// deployment is a Deployment from which the commands read the flags of the gate of this namespace. Nothing runs it.
func (r *rollout) deployment(flags ...string) {
	labels := map[string]string{"app.kubernetes.io/part-of": "stepgate", "app.kubernetes.io/component": "webhook"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "stepgate", Image: "stepgate", Args: append([]string{"serve", "--application-namespaces=" + r.namespace}, flags...)}},
	}}
	r.Expect(shared.Admin.Create(r.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "stepgate", Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod},
	})).To(Succeed())
}

// TestTheCommandLineAgreesWithTheGate asks both about the same syncs, by the same writers, while a rollout goes on.
func TestTheCommandLineAgreesWithTheGate(t *testing.T) {
	t.Parallel()
	r := newRollout(t)
	r.deployment("--spec-settling=0")
	for _, stage := range []struct {
		name    string
		happens func()
		waits   []string
	}{
		{"dev is Progressing", func() {}, []string{"qa", "prod"}},
		{"dev is done", func() { r.refreshed("dev") }, []string{"prod"}},
		{"dev has degraded", func() {
			r.Expect(r.update(cluster.ControllerAccount, "dev", func(app *argo.Application) {
				app.Status.Health.Status = health.HealthStatusDegraded
			})).To(Succeed())
		}, []string{"qa", "prod"}},
		{"dev and qa are done", func() { r.refreshed("dev"); r.refreshed("qa") }, nil},
	} {
		stage.happens()
		var waits []string
		for _, env := range []string{"dev", "qa", "prod"} {
			x, code := r.explained(env)
			if x.Waits() {
				waits = append(waits, env)
			}
			r.Expect(code == 1).To(Equal(x.Waits()), "%s: %s", stage.name, env)
			app := r.app(env)
			before := app.DeepCopy()
			app.Operation = show.NextOperation(app, show.ApplicationSetController)
			r.Expect(r.as(cluster.ApplicationSetAccount).Patch(r.ctx, app, client.MergeFrom(before),
				client.DryRunAll)).To(Succeed())
			r.Expect(app.Operation == nil).To(Equal(x.Outcome == show.Held), "%s: %s: the command line says %s", stage.name,
				env, x.Outcome)
			if app.Operation != nil && app.Operation.Sync.Revision != "" {
				r.Expect(x.Revisions).To(Equal([]string{app.Operation.Sync.Revision}))
				r.Expect(x.Pinned).To(BeTrue())
			}
			r.agreesAboutUsers(env)
		}
		r.Expect(waits).To(Equal(stage.waits), stage.name)
	}
}

// agreesAboutUsers holds the text that the command line foretells against the one that a user gets. What a denial waits for
// in the end is as the gate's watch has seen it last, which may be a moment ago.
func (r *rollout) agreesAboutUsers(env string) {
	r.t.Helper()
	text, err := yaml.Marshal(guestbook.UserSync("jane"))
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(func(g Gomega) {
		command, out := r.command("explain", "engineering-"+env+"-guestbook", "-o", "json", "--operation", "-", "--ask-gate")
		command.Stdin = bytes.NewReader(text)
		_ = command.Run()
		var x show.Explanation
		g.Expect(json.Unmarshal([]byte(out.String()), &x)).To(Succeed(), out.String())
		err := r.update(cluster.Human, env, func(app *argo.Application) {
			app.Operation = guestbook.UserSync("jane")
		}, client.DryRunAll)
		g.Expect(apierrors.IsForbidden(err)).To(Equal(x.Outcome == show.Refused))
		if err != nil {
			g.Expect(err.Error()).To(HaveSuffix("denied the request: " + x.Message))
			g.Expect(x.Gate).To(And(HavePrefix("refused: "), HaveSuffix(x.Message)))
		} else {
			g.Expect(x.Gate).To(HavePrefix("let through"))
		}
	}).Should(Succeed())
}

// TestGetAndWait watches a rollout to its end.
func TestGetAndWait(t *testing.T) {
	t.Parallel()
	r := newRollout(t)
	a := r.ask("get")
	r.Expect(a).To(Equal(answer{
		out: "NAME       STEP  DONE  STATUS     SINCE  WAITING FOR\n" +
			"guestbook  1/3   0/3   ⟳ Running         engineering-dev-guestbook (NotHealthy: Progressing)\n", code: 1,
	}))
	a = r.ask("get", "guestbook")
	r.Expect(a.out).To(
		ContainSubstring("step 1  envLabel In (env-dev)  0/1 done\n  ⟳  engineering-dev-guestbook  Progressing"),
	)
	r.Expect(r.ask("wait", "guestbook", "--timeout", "1s").code).To(Equal(1))

	watch, watched := r.command("get", "guestbook", "--watch")
	r.Expect(watch.Start()).To(Succeed())
	defer func() { _ = watch.Process.Kill() }()
	r.Eventually(watched.String).Should(
		ContainSubstring(
			"Progressing, step 1/3, 0 of 3 done, waiting for: engineering-dev-guestbook (NotHealthy: Progressing)\n",
		),
	)
	whole, wholeOut := r.command("wait", "guestbook", "--revision", guestbook.NewCommit[:7])
	prod, prodOut := r.command("wait", "app/engineering-prod-guestbook")
	r.Expect(whole.Start()).To(Succeed())
	r.Expect(prod.Start()).To(Succeed())
	r.Eventually(prodOut.String).Should(
		ContainSubstring("engineering-prod-guestbook (step 3 of 3): waits for engineering-dev-guestbook and 1 more; in the " +
			"end it waits for this: engineering-dev-guestbook (NotHealthy: Progressing)\n"),
	)
	r.refreshed("dev")
	r.Eventually(prodOut.String).Should(ContainSubstring("waits for engineering-qa-guestbook; in the end it waits for "))
	r.refreshed("qa")
	r.Expect(prod.Wait()).To(Succeed(), "it may start")
	r.Expect(prodOut.String()).To(HaveSuffix("engineering-prod-guestbook (step 3 of 3): may start\n"))
	r.done("prod")
	r.Expect(whole.Wait()).To(Succeed())
	r.Expect(wholeOut.String()).To(ContainSubstring("guestbook has " + guestbook.NewCommit[:7] +
		" or newer: 3 Applications in 3 steps, after "))
	r.Eventually(watched.String).Should(ContainSubstring("Complete, step 3/3, 3 of 3 done\n"))
	r.Expect(r.ask("get", "guestbook").code).To(Equal(0))
	r.Expect(r.ask("wait", "guestbook", "--revision", "ffff", "--timeout", "1s").code).To(Equal(1), "another revision")
}

// TestTheCandidatesAreThoseOfTheGate asks it, as somebody who may try a sync and as somebody who may not.
func TestTheCandidatesAreThoseOfTheGate(t *testing.T) {
	r := newRollout(t, "--pin=candidate")
	r.deployment("--spec-settling=0", "--pin=candidate")
	x, _ := r.explained("qa")
	r.Expect(x.Problems).To(BeEmpty())
	r.Expect(x.Candidates).To(HaveLen(1))
	r.Expect(x.Candidates[0].Revisions).To(Equal([]string{guestbook.NewCommit}))
	r.Expect(x.Candidates[0].Compared).To(BeTrue())
	r.Expect(string(x.Candidates[0].Reason)).To(Equal("NotHealthy"))
	r.Expect(x.Candidates[0].Blocker).To(Equal("engineering-dev-guestbook"))
	r.Expect(r.ask("get", "guestbook").out).To(ContainSubstring(
		"next: " + guestbook.NewCommit[:7] + " waits for engineering-dev-guestbook (NotHealthy: Progressing)"))
	r.done("dev")
	x, _ = r.explained("qa")
	r.Expect(x.Candidates).To(HaveLen(1))
	r.Expect(x.Candidates[0].Reason).To(BeEmpty(), "it may start")
	r.Expect(r.stored("qa")).To(BeFalse(), "nothing is written")
	r.allow("reader", "get", "list")
	r.annotate(map[string]string{"stepgate.io/pin": "candidate"}) // a reader does not see the Deployment
	x, _ = r.explained("qa", "--as", "reader")
	r.Expect(x.Candidates).To(BeEmpty())
	r.Expect(x.Problems).To(ContainElement(ContainSubstring("the gate was not asked for candidates")))
}

// TestWaitOnATerminal shows one line, which says at the end that the rollout is complete.
func TestWaitOnATerminal(t *testing.T) {
	t.Parallel()
	r := newRollout(t)
	command, _ := r.command("wait", "app/engineering-qa-guestbook")
	command.Env = append(os.Environ(), "TERM=xterm")
	recording, ended, err := cast.Start(command, 80, 24)
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(recording.Text).Should(
		MatchRegexp(`\r\x1b\[K\d+s  engineering-qa-guestbook \(step 2 of 3\): waits for engineering-dev-guestboo`),
	)
	r.refreshed("dev")
	r.Expect(ended()).To(Succeed())
	r.Expect(recording.Text()).To(
		HaveSuffix("\r\x1b[K\x1b[32m✔\x1b[0m engineering-qa-guestbook (step 2 of 3): may start\r\n"),
	)
}

// TestColours are for a terminal alone, and not for somebody who wants none.
func TestColours(t *testing.T) {
	r := newRollout(t)
	for name, tc := range map[string]struct {
		env  string
		want types.GomegaMatcher
	}{
		"a terminal":      {"TERM=xterm", ContainSubstring("\x1b[33m⟳ Running")},
		"NO_COLOR":        {"NO_COLOR=1", Not(ContainSubstring("\x1b"))},
		"a dumb terminal": {"TERM=dumb", Not(ContainSubstring("\x1b"))},
	} {
		command, _ := r.command("get")
		command.Env = append(os.Environ(), tc.env)
		recording, ended, err := cast.Start(command, 80, 24)
		r.Expect(err).NotTo(HaveOccurred())
		_ = ended() // 1 says that the rollout is not complete
		r.Expect(recording.Text()).To(And(ContainSubstring("guestbook"), tc.want), name)
	}
	r.Expect(r.ask("get").out).To(Not(ContainSubstring("\x1b")), "no terminal")
}

// TestAuditLintAndSimulate ask about the rollout in the cluster.
func TestAuditLintAndSimulate(t *testing.T) {
	r := newRollout(t)
	a := r.ask("simulate", "guestbook")
	r.Expect(a.code).To(Equal(0), a.err)
	r.Expect(a.out).To(And(ContainSubstring("engineering-prod-guestbook (step 3) starts"),
		ContainSubstring("complete after")))
	a = r.ask("lint")
	r.Expect(a.out).To(ContainSubstring("ApplicationSet " + r.namespace + "/guestbook (3 steps, 3"))
	a = r.ask("audit")
	r.Expect(a.code).To(Equal(2), a.err)
	r.Expect(a.err).To(ContainSubstring("there is no rollout on record in namespace " + r.namespace))
	a = r.ask("audit", "--allow-empty")
	r.Expect(a.code).To(Equal(0), a.err)
	r.Expect(a.out).To(ContainSubstring("1 ApplicationSet with steps"))

	// Then prod deploys a commit a minute before dev does. Records from before an Application was created would not
	// count.
	first := time.Now().Truncate(time.Second).Add(time.Minute)
	for i, env := range []string{"prod", "dev"} {
		at := first.Add(time.Duration(i) * time.Minute)
		r.Expect(r.update(cluster.ControllerAccount, env, func(app *argo.Application) {
			app.Operation = guestbook.RollingSync()
			guestbook.Start(app, at)
			guestbook.Finish(app, at.Add(10*time.Second), guestbook.NewCommit)
			started := metav1.NewTime(at)
			last := &app.Status.History[len(app.Status.History)-1]
			last.DeployStartedAt, last.InitiatedBy = &started, argo.OperationInitiator{
				Username: "applicationset-controller", Automated: true,
			}
		})).To(Succeed())
	}
	a = r.ask("audit")
	r.Expect(a.code).To(Equal(1), a.out)
	r.Expect(a.out).To(ContainSubstring("engineering-prod-guestbook (step 3) started 70s before"))
}

// TestMissingRights gives a user one right after the other: each command says which right it lacks, and what still
// works.
func TestMissingRights(t *testing.T) {
	r := newRollout(t)
	const user = "reader"
	a := r.ask("get", "--as", user)
	r.Expect(a.code).To(Equal(2))
	r.Expect(a.err).To(ContainSubstring(`User "reader" cannot list resource "applicationsets"`))
	r.Expect(a.err).To(HaveSuffix("ask for the right to get and list applications and applicationsets of argoproj.io\n"))
	r.Expect(strings.Count(a.err, "\n")).To(Equal(1))

	for _, args := range [][]string{{"audit"}, {"lint"}, {"simulate", "guestbook"}} {
		a = r.ask(append(args, "--as", user)...)
		r.Expect(a.code).To(Equal(2), "%v: %s", args, a.err)
		r.Expect(a.err).To(ContainSubstring(`User "reader" cannot `))
	}

	r.allow(user, "get", "list")
	for _, args := range [][]string{{"audit", "--allow-empty"}, {"lint"}, {"simulate", "guestbook"}} {
		r.Expect(r.ask(append(args, "--as", user)...).code).To(BeNumerically("<", 2), "%v", args)
	}
	r.Expect(r.ask("get", "--as", user).code).To(Equal(1))
	r.Expect(r.ask("get", "guestbook", "--as", user).code).To(Equal(1))
	x, _ := r.explained("qa", "--as", user)
	r.Expect(x.Settings).To(ContainSubstring("the default settings of stepgate, because its Deployment cannot be read"))
	r.Expect(x.Problems).To(ConsistOf(ContainSubstring("Events are not shown"),
		ContainSubstring("every sync window counts as open, because the AppProjects cannot be read")))
	for _, args := range [][]string{{"get", "--watch"}, {"wait", "guestbook"}} {
		a = r.ask(append(args, "--as", user)...)
		r.Expect(a.code).To(Equal(2))
		r.Expect(a.err).To(Equal("stepgate: you may not watch applicationsets.argoproj.io in namespace " + r.namespace +
			"; stepgate get without --watch needs only get and list\n"))
	}
}

// allow gives a user rights to read Argo CD's objects in the namespace of the rollout.
func (r *rollout) allow(user string, verbs ...string) {
	r.t.Helper()
	meta := metav1.ObjectMeta{Namespace: r.namespace, Name: user}
	r.Expect(shared.Admin.Create(r.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: verbs,
	}}})).To(Succeed())
	r.Expect(shared.Admin.Create(r.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})).To(Succeed())
	r.Eventually(func() int { return r.ask("get", "--as", user).code }).Should(Equal(1), "the API server knows the role")
}

// TestWrongNames says what does not exist.
func TestWrongNames(t *testing.T) {
	r := newRollout(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "nobody"}, `no ApplicationSet "nobody" in namespace ` + r.namespace},
		{[]string{"get", "nobody", "--watch"}, `no ApplicationSet "nobody" in namespace ` + r.namespace},
		{[]string{"explain", "nobody"}, `no Application "nobody" in namespace ` + r.namespace},
		{[]string{"wait", "nobody"}, `no Application or ApplicationSet "nobody" in namespace ` + r.namespace},
		{[]string{"wait", "appset/nobody"}, `no ApplicationSet "nobody" in namespace ` + r.namespace},
		{[]string{"wait", "guestbook", "--revision", "abc"}, `--revision: "abc" is too short; give 4 characters at least`},
		{[]string{"get", "a/b/c"}, `"a/b/c" is not NAME or NAMESPACE/NAME`},
		{[]string{"get", "--output", "xml"}, `--output: "xml" is not one of wide, json, yaml`},
	} {
		a := r.ask(tc.args...)
		r.Expect(a.err).To(HavePrefix("stepgate: "+tc.want), "%v", tc.args)
		r.Expect(strings.Count(a.err, "\n")).To(Equal(1), "%v", tc.args)
		r.Expect(a.code).To(Equal(2), "%v", tc.args)
	}
}

// TestWrongNamesInTheOtherCommands wants the name and the namespace in one line.
func TestWrongNamesInTheOtherCommands(t *testing.T) {
	r := newRollout(t)
	for _, command := range []string{"audit", "lint", "simulate"} {
		a := r.ask(command, "nobody")
		r.Expect(a.code).To(Equal(2), command)
		r.Expect(a.err).To(And(HavePrefix("stepgate: "), ContainSubstring("nobody"), ContainSubstring(r.namespace)))
		r.Expect(strings.Count(a.err, "\n")).To(Equal(1))
	}
}

// TestShellCompletion completes names of the cluster.
func TestShellCompletion(t *testing.T) {
	r := newRollout(t)
	for typed, want := range map[string]string{"get g": "guestbook\n",
		"explain engineering-q": "engineering-qa-guestbook\n", "wait g": "guestbook\n", "get x": "", "audit g": "guestbook\n", "lint g": "guestbook\n", "pause g": "guestbook\n", "resume g": "guestbook\n", "approve g": "guestbook\n", "simulate g": "guestbook\n"} {
		words := strings.Fields(typed)
		kubeconfig, err := shared.AdminKubeconfig()
		r.Expect(err).NotTo(HaveOccurred())
		command := exec.CommandContext(context.WithoutCancel(r.ctx), shared.Binary, "__complete", words[0], "--kubeconfig",
			kubeconfig, "-n", r.namespace, words[1])
		out, err := command.Output()
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(string(out)).To(Equal(want + ":4\n"))
	}
}
