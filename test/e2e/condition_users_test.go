// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/script"
)

const (
	// approver is the user whom the gate lets approve, and stranger another one. Both may write ApplicationSets and
	// Applications.
	approver = "alice"
	stranger = "mallory"
)

// installUsers lets the users, and Kargo, write ApplicationSets and Applications.
func (s *suite) installUsers(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: "people"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: []string{"get", "list", "watch", "patch", "update"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	}
	for _, user := range []string{approver, stranger, kargoAccount} {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user})
	}
	if err := s.Admin.Create(ctx, role); err != nil {
		return err
	}
	return s.Admin.Create(ctx, binding)
}

// annotateAs sets an annotation of the ApplicationSet as a user, or removes it if the value is empty.
func (w *waiting) annotateAs(user, key, value string) (moment, error) {
	as, err := w.Client(user)
	if err != nil {
		return moment{}, err
	}
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(w.mode), w.name
	if err := as.Patch(w.ctx, set, annotation(prefix+key, value)); err != nil {
		return moment{}, err
	}
	return stored(set), nil
}

// refuses asks that the gate has refused a write with an error, or that without the gate there is none.
func (w *waiting) refuses(err error, what string) {
	switch {
	case err != nil && !fromGate(err.Error()):
		script.Mustf(err, "%s", what)
	case err == nil && w.mode != off:
		script.Fail("%s was not refused", what)
	case err != nil:
		w.refusals++
	}
	w.tries++
}

// annotatesInVain has a user set an annotation that the gate has to refuse.
func (w *waiting) annotatesInVain(user, key, value string) {
	_, err := w.annotateAs(user, key, value)
	w.refuses(err, fmt.Sprintf("%s=%s, set by %s,", key, value, user))
}

// startsByHand lets a user write an operation with kubectl that the gate has to refuse.
func (w *waiting) startsByHand(m *member) {
	app := &argo.Application{}
	app.Namespace, app.Name = string(w.mode), m.name
	patch := fmt.Sprintf(`{"operation":{"initiatedBy":{"username":%q},"sync":{"revision":%q}}}`, stranger, m.revision)
	as := script.Get(w.Client(stranger))
	w.refuses(as.Patch(w.ctx, app, client.RawPatch(types.MergePatchType, []byte(patch))),
		"a sync of "+m.name+" by "+stranger)
}

// approvedByUsers lets a step wait for an approval, of each commit again. Nobody but the approver can give it.
func approvedByUsers(w *waiting) {
	w.annotateSet("approve", "3")
	for _, version := range []string{"2", "3"} {
		w.rollOut(version)
		prod := w.in("prod")
		h := w.hold(prod)
		w.untilAll(w.in("dev", "qa"))
		approval := "3@" + prod[0].revision
		w.annotatesInVain(stranger, "approved", approval)
		forged := fmt.Sprintf(`[{"step":3,"of":%q,"by":%q,"at":"2026-01-02T03:04:05Z"}]`, prod[0].revision, approver)
		w.annotatesInVain(stranger, "approved-by", forged)
		w.annotatesInVain(approver, "approved-by", forged)
		w.stand(h)
		due, err := w.annotateAs(approver, "approved", approval)
		script.Mustf(err, "approve as %s", approver)
		h.due = due
		w.end()
	}
}
