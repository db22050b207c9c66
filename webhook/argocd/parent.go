// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Tracking reads which Application deploys an object of Argo CD. The zero value knows the children of a parent's own
// namespace only.
type Tracking struct {
	// Home is the namespace in which Argo CD runs: a parent of there has no namespace in what its children tell.
	Home string
	// Gated reports whether writes to the Applications of a namespace are judged; nil if all are. No other is a member.
	Gated func(namespace string) bool
}

// parentOf is the Application that deploys an object of Argo CD of a kind, by Argo CD's tracking; empty where none does.
// The annotation counts, unless it was copied from another object; else the label does. A parent in another namespace
// than Argo CD's is NAMESPACE_NAME there: GetAppName and ParseAppInstanceValue of argo-cd v3.5.7,
// util/argo/resource_tracking.go, and InstanceName of pkg/apis/application/v1alpha1/types.go.
func (t Tracking) parentOf(
	kind, namespace, name string, labels map[string]string, tracking string,
) (parent types.NamespacedName) {
	instance, copied := labels[common.LabelKeyAppInstance], true
	if by, what, is := strings.Cut(tracking, ":argoproj.io/"+kind+":"); is && what == namespace+"/"+name {
		instance, copied = by, false
	}
	parent = types.NamespacedName{Namespace: cmp.Or(t.Home, namespace), Name: instance}
	if in, rest, qualified := strings.Cut(instance, "_"); qualified {
		parent = types.NamespacedName{Namespace: in, Name: rest}
	}
	switch own := parent.Namespace == namespace; {
	case parent.Name == "",
		copied && own && parent.Name == name, // a label that many charts set to their own name
		!own && (kind != "Application" || !t.reaches(parent.Namespace, namespace)):
		return types.NamespacedName{}
	}
	return parent
}

// reaches reports whether a parent of one namespace may have members in another.
func (t Tracking) reaches(parent, namespace string) bool {
	if _, is := policy.ParentNamed(namespace + "/"); is || t.Home == "" { // that would be the name of a parent
		return false
	}
	return t.Gated == nil || t.Gated(parent) && t.Gated(namespace)
}

// UIDOfParent is the UID of the order that a parent Application gives its children. A child tells no more than the name
// of its parent: one that was created again has the same.
func UIDOfParent(namespace, name string) types.UID {
	sum := sha256.Sum256([]byte(namespace + "/" + name))
	return types.UID(orderUID + hex.EncodeToString(sum[:16]))
}

// orderUID begins every UIDOfParent.
const orderUID = "waves-"

// IsOrder reports whether a UID is that of an order that a parent Application may give.
func IsOrder(uid types.UID) bool { return strings.HasPrefix(string(uid), orderUID) }

// waves is the order that a parent Application gives its children; nil unless its annotation asks for one.
func (t Tracking) waves(app *argo.Application, annotations Annotations) *ApplicationSet {
	if !hasWaves(annotations) {
		return nil
	}
	set := &ApplicationSet{
		ApplicationSet: policy.ApplicationSet{
			Namespace: app.Namespace, Name: policy.NameOfParent(app.Name), UID: string(UIDOfParent(app.Namespace, app.Name)),
			ParentUID: string(app.UID), Deleting: app.DeletionTimestamp != nil, Waves: true,
			ByHand: app.Spec.SyncPolicy == nil || !app.Spec.SyncPolicy.IsAutomatedSyncEnabled(),
		},
		Annotations: annotations, Labels: app.Labels, Subscriptions: readSubscriptions(app.Annotations),
	}
	set.Recorded, set.Elsewhere = t.deploys(app)
	set.Deploys = deploysSets(app)
	set.MaxUpdate, _ = maxUpdateOfWaves(set)
	return set
}

// FormOfParent is a parent Application in the form of an ApplicationSet, for those who look at its annotations only.
func FormOfParent(app *argo.Application) *argo.ApplicationSet {
	set := &argo.ApplicationSet{ObjectMeta: *app.ObjectMeta.DeepCopy()}
	set.Name, set.UID = policy.NameOfParent(app.Name), UIDOfParent(app.Namespace, app.Name)
	return set
}

// deploys are the children that a parent has yet to create or to change, with their waves as they are to be, and those
// of other namespaces, whether they exist or not.
func (t Tracking) deploys(app *argo.Application) (recorded map[string]policy.Recorded, elsewhere map[string]bool) {
	recorded = map[string]policy.Recorded{}
	for i := range app.Status.Resources {
		r := &app.Status.Resources[i]
		own := r.Namespace == app.Namespace
		if r.Group != argo.SchemeGroupVersion.Group || r.Kind != "Application" ||
			!own && !t.reaches(app.Namespace, r.Namespace) {
			continue
		}
		name := policy.MemberName(app.Namespace, r.Namespace, r.Name)
		if !own {
			if elsewhere == nil {
				elsewhere = map[string]bool{}
			}
			elsewhere[name] = true
		}
		if r.Status == argo.SyncStatusCodeOutOfSync && !r.RequiresPruning {
			recorded[name] = policy.Recorded{Step: policy.WaveStep(int(r.SyncWave)) + 1}
		}
	}
	return recorded, elsewhere
}

// deploysSets are the ApplicationSets of its namespace that a parent deploys, whether they exist or not.
func deploysSets(app *argo.Application) (all map[string]int) {
	for i := range app.Status.Resources {
		r := &app.Status.Resources[i]
		if r.Group == argo.SchemeGroupVersion.Group && r.Kind == "ApplicationSet" && r.Namespace == app.Namespace &&
			!r.RequiresPruning {
			if all == nil {
				all = map[string]int{}
			}
			all[r.Name] = policy.WaveStep(int(r.SyncWave))
		}
	}
	return all
}

// ObjectName is the name of the Application that a name stands for: one of a member in another namespace than what orders
// it has that in it (policy.MemberName).
func ObjectName(name types.NamespacedName) types.NamespacedName {
	namespace, object := policy.ObjectOf(name.Namespace, name.Name)
	return types.NamespacedName{Namespace: namespace, Name: object}
}
