// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/settings"
)

// verified annotates the ApplicationSet, and lets stepgate read Jobs, and a kind that does not exist, as the chart would.
// It returns once a second has passed since the Applications were created: evidence of the same second does not count.
func (r *rollout) verified(verify string) {
	r.t.Helper()
	meta := metav1.ObjectMeta{Name: "verify-" + r.namespace}
	r.Expect(shared.Admin.Create(r.ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"batch", "example.com"}, Resources: []string{"jobs", "nothing"}, Verbs: []string{"get", "list", "watch"},
	}}})).To(Succeed())
	r.Expect(shared.Admin.Create(r.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: r.replica.Name, Name: r.replica.Name}},
	})).To(Succeed())
	r.verify(verify)
	created := r.app("qa").CreationTimestamp
	r.Eventually(time.Now).Should(BeTemporally(">=", created.Add(time.Second)))
}

// verify annotates the ApplicationSet.
func (r *rollout) verify(verify string) {
	r.t.Helper()
	patch := client.MergeFrom(r.Set.DeepCopy())
	r.Set.Annotations = map[string]string{settings.VerifyAnnotation: verify}
	r.Expect(shared.Admin.Patch(r.ctx, r.Set, patch)).To(Succeed())
}

// job creates a Job that speaks of a revision, as somebody's CI does.
func (r *rollout) job(name, revision string) *batchv1.Job {
	r.t.Helper()
	job := r.newJob(name, revision)
	r.Expect(shared.Admin.Create(r.ctx, job)).To(Succeed())
	return job
}

func (r *rollout) newJob(name, revision string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: name, Labels: map[string]string{"suite": "smoke", evidence.RevisionLabel: revision},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	}
}

// ends gives a Job its end, as its controller does.
func (r *rollout) ends(job *batchv1.Job, how batchv1.JobConditionType) {
	r.t.Helper()
	now := metav1.Now()
	before := batchv1.JobSuccessCriteriaMet
	job.Status.StartTime = &now
	if how == batchv1.JobComplete {
		job.Status.CompletionTime = &now
	} else {
		before = batchv1.JobFailureTarget
	}
	end := batchv1.JobCondition{Type: how, Status: corev1.ConditionTrue, Message: "p99 is 3 s"}
	job.Status.Conditions = []batchv1.JobCondition{{Type: before, Status: corev1.ConditionTrue}, end}
	err := shared.Admin.Status().Update(r.ctx, job)
	if apierrors.IsInvalid(err) { // Kubernetes 1.30 knows the condition before, and allows it for a success policy alone
		job.Status.Conditions = []batchv1.JobCondition{end}
		err = shared.Admin.Status().Update(r.ctx, job)
	}
	r.Expect(err).NotTo(HaveOccurred())
}

// TestAStepWaitsForEvidence has a Job say nothing, no, and yes about the revision that qa would deploy.
func TestAStepWaitsForEvidence(t *testing.T) {
	r := newRollout(t, "--verify-kinds=jobs.v1.batch")
	r.verified("2=jobs.batch?suite=smoke")
	r.done("dev")
	denied := func(text string) {
		r.t.Helper()
		err := r.sync(cluster.Human, "qa")
		r.denied(err)
		r.Expect(err).To(MatchError(ContainSubstring(text)))
	}
	label := evidence.RevisionLabel + "=" + guestbook.NewCommit
	denied("step 2 of ApplicationSet " + r.namespace + "/guestbook is not verified (Unverified: jobs.batch?suite=smoke: " +
		"there is none with the label " + label + "). Next: ")
	r.ends(r.job("old", guestbook.OldCommit), batchv1.JobComplete)
	denied("there is none with the label " + label)

	job := r.job("smoke", guestbook.NewCommit)
	denied("smoke says not yet (Progressing)")
	r.ends(job, batchv1.JobFailed)
	denied("may not deploy this (Unverified: jobs.batch?suite=smoke: smoke says no (Degraded)). Next: ")
	r.Expect(shared.Admin.Delete(r.ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	denied("there is none with the label " + label)

	// Its turn comes, without anybody who asks.
	r.pending("qa")
	r.refreshed("dev")
	r.Consistently(func() string { return r.asked("qa") }, time.Second).Should(BeEmpty())
	r.ends(r.job("again", guestbook.NewCommit), batchv1.JobComplete)
	r.Eventually(func() string { return r.asked("qa") }).Should(Equal(string(argo.RefreshTypeNormal)))
	r.Expect(r.sync(cluster.Human, "qa")).To(Succeed())
	r.Expect(r.stored("qa")).To(BeTrue())
}

// TestEvidenceThatCannotBeRead keeps a step waiting, and says why.
func TestEvidenceThatCannotBeRead(t *testing.T) {
	r := newRollout(t, "--verify-kinds=jobs.v1.batch,nothing.v1.example.com,pods.v1")
	r.verified("2=jobs.batch/smoke if object.status.succeeded > 0")
	r.done("dev")
	job := r.job("smoke", guestbook.NewCommit)
	for _, row := range []struct{ verify, want string }{
		{"2=jobs.batch/smoke if object.status.succeeded > 0", "smoke says not yet (its expression gives no answer)"},
		{"2=jobs.batch/smoke if object.spec.parallelism", "smoke says not yet (its expression gives no bool and no text)"},
		{"2=jobs.batch/other", "jobs.batch/other: there is none with the label"},
		{"2=nothing.example.com/smoke", "the cluster has no nothing.example.com in the configured version"},
		{"2=pods/smoke", "stepgate may not read pods in namespace " + r.namespace},
		{"2=cronjobs.batch/smoke", "this installation does not read cronjobs.batch (config.verify.kinds)"},
		{"2=jobs.batch/smoke if object.", "the annotation stepgate.io/verify cannot be read: "},
		{"2=jobs.batch/kube-system/smoke", `namespace "kube-system" may not be named (config.verify.namespaces)`},
	} {
		r.verify(row.verify)
		r.Eventually(func() error { return r.sync(cluster.Human, "qa") }).Should(MatchError(ContainSubstring(row.want)))
	}
	r.verify("2=jobs.batch/smoke if object.spec.parallelism == 1")
	r.Eventually(func() error { return r.sync(cluster.Human, "qa") }).Should(Succeed())

	// It gets another revision, and counts for that alone.
	patch := []byte(`{"metadata":{"labels":{"` + evidence.RevisionLabel + `":"` + guestbook.OldCommit + `"}}}`)
	r.Expect(shared.Admin.Patch(r.ctx, job, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	r.done("qa")
	r.verify("3=jobs.batch/smoke if object.spec.parallelism == 1")
	r.refreshed("dev")
	r.Eventually(func() error { return r.sync(cluster.Human, "prod") }).Should(
		MatchError(ContainSubstring("there is none with the label " + evidence.RevisionLabel + "=" + guestbook.NewCommit)))
}

// TestEvidenceTakesNoMemory has somebody label many large objects. What is watched of them is little.
func TestEvidenceTakesNoMemory(t *testing.T) {
	r := newRollout(t, "--verify-kinds=jobs.v1.batch")
	r.verified("2=jobs.batch?suite=smoke")
	r.done("dev")
	resident := func() float64 {
		r.t.Helper()
		size, err := r.replica.ResidentMiB()
		r.Expect(err).NotTo(HaveOccurred())
		return size
	}
	large := func(name, revision string) {
		job := r.newJob(name, revision)
		job.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 1_000_000)}}
		job.Annotations = map[string]string{"long": strings.Repeat("x", 200_000)}
		r.Expect(shared.Admin.Create(r.ctx, job)).To(Succeed())
	}
	r.pending("qa")
	r.refreshed("dev")
	before := resident()
	r.Expect(r.replica.ForgetPeak()).To(Succeed())
	for i := range 60 {
		large(fmt.Sprint("large-", i), guestbook.OldCommit)
	}
	// Whoever sees the last one has seen the others.
	last := r.job("last", guestbook.NewCommit)
	r.ends(last, batchv1.JobComplete)
	r.Eventually(func() string { return r.asked("qa") }).Should(Equal(string(argo.RefreshTypeNormal)))
	peak, err := r.replica.PeakMiB()
	r.Expect(err).NotTo(HaveOccurred())
	t.Logf("60 labelled Jobs of 1.2 MB: %.0f MiB before, %.0f MiB after, at most %.0f MiB", before, resident(), peak)
	r.Expect(peak-before).To(BeNumerically("<", 40), "MiB")

	large("large", guestbook.NewCommit)
	r.Expect(r.sync(cluster.Human, "qa")).To(MatchError(
		ContainSubstring("large says not yet (it is larger than 256 KiB)")))
}

// TestAnExpressionTellsNothing has expressions give a text of an object, and a text that is as long as memory allows.
func TestAnExpressionTellsNothing(t *testing.T) {
	r := newRollout(t, "--verify-kinds=jobs.v1.batch")
	r.verified("2=jobs.batch/smoke")
	r.done("dev")
	job := r.newJob("smoke", guestbook.NewCommit)
	job.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}
	r.Expect(shared.Admin.Create(r.ctx, job)).To(Succeed())
	const secret = "object.spec.template.spec.containers[0].env[0].value"
	for _, row := range []struct{ condition, want string }{
		{secret, "smoke says not yet). Next: "},
		{"int(" + secret + ") == 1", "smoke says not yet (its expression gives no answer)"},
		{"object.spec[" + secret + "] == 1", "smoke says not yet (its expression gives no answer)"},
		{"object.spec.template.spec.containers[0].env[0]", "smoke says not yet (its expression gives no bool and no text)"},
		{"'a'." + strings.Repeat("replace('a','aaaaaaaaaa').", 20) + "size() > 0", "undeclared reference to 'replace'"},
	} {
		r.verify("2=jobs.batch/smoke if " + row.condition)
		r.Eventually(func() error { return r.sync(cluster.Human, "qa") }).Should(MatchError(ContainSubstring(row.want)))
		r.Expect(r.sync(cluster.Human, "qa")).NotTo(MatchError(ContainSubstring("hunter2")))
	}
	r.Eventually(func() int { return len(r.events("qa", "SyncDenied")) }).Should(BeNumerically(">", 0))
	for _, event := range r.events("qa", "SyncDenied") {
		r.Expect(event.Note).NotTo(ContainSubstring("hunter2"))
	}
}

// TestNoExpressionIsDear stores expressions that double what they are given, again and again, where kinds are read and
// where none is.
func TestNoExpressionIsDear(t *testing.T) {
	for name, args := range map[string][]string{"no kinds": nil, "kinds": {"--verify-kinds=jobs.v1.batch"}} {
		t.Run(name, func(t *testing.T) {
			r := newRollout(t, args...)
			r.done("dev")
			var all []string
			for i := range 20 {
				all = append(all, fmt.Sprintf("1=jobs.batch/n%d if optional.of([%d,1,1,1,1,1,1,1,1])%s.hasValue()", i, i,
					strings.Repeat(".optMap(a,a)", 12)))
			}
			set := guestbook.Set(r.namespace)
			set.Name, set.Annotations = "dear", map[string]string{settings.VerifyAnnotation: strings.Join(all, ";")}
			used := r.cpu()
			r.Expect(shared.Admin.Create(r.ctx, set)).To(Succeed())
			for range 5 { // decisions and scrapes go on, and look at it as well
				r.Expect(r.sync(cluster.Human, "prod", client.DryRunAll)).NotTo(Succeed())
				_, err := installed.Get(r.ctx, "http://"+r.replica.Metrics+"/metrics")
				r.Expect(err).NotTo(HaveOccurred())
			}
			r.Expect(r.cpu()-used).To(BeNumerically("<", 3), "seconds")
		})
	}
}

// cpu is how many seconds of CPU the gate has used.
func (r *rollout) cpu() float64 {
	r.t.Helper()
	used, err := r.replica.Metric(r.ctx, "process_cpu_seconds_total")
	r.Expect(err).NotTo(HaveOccurred())
	return used
}
