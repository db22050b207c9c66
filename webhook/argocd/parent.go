// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// parentOf is the name of the Application that deploys an object of Argo CD of a kind, in its namespace, by Argo CD's
// tracking; empty where none does. The annotation counts, unless it was copied from another object; else the label does.
// The parent of an Application of another namespace than Argo CD's is NAMESPACE_NAME there: GetAppName and
// ParseAppInstanceValue of argo-cd v3.5.7, util/argo/resource_tracking.go, and InstanceName of
// pkg/apis/application/v1alpha1/types.go.
func parentOf(kind, namespace, name string, labels map[string]string, tracking string) string {
	parent, copied := labels[common.LabelKeyAppInstance], true
	if by, what, is := strings.Cut(tracking, ":argoproj.io/"+kind+":"); is && what == namespace+"/"+name {
		parent, copied = by, false
	}
	if in, rest, elsewhere := strings.Cut(parent, "_"); elsewhere {
		if in != namespace {
			return ""
		}
		parent = rest
	}
	if copied && parent == name { // a label that many charts set to their own name
		return ""
	}
	return parent
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
func waves(app *argo.Application, annotations Annotations) *ApplicationSet {
	if !hasWaves(annotations) {
		return nil
	}
	set := &ApplicationSet{
		ApplicationSet: policy.ApplicationSet{
			Namespace: app.Namespace, Name: policy.NameOfParent(app.Name), UID: string(UIDOfParent(app.Namespace, app.Name)),
			ParentUID: string(app.UID), Deleting: app.DeletionTimestamp != nil, Waves: true, Recorded: toDeploy(app),
			ByHand: app.Spec.SyncPolicy == nil || !app.Spec.SyncPolicy.IsAutomatedSyncEnabled(),
		},
		Annotations: annotations, Labels: app.Labels, Subscriptions: readSubscriptions(app.Annotations),
	}
	set.MaxUpdate, _ = maxUpdateOfWaves(set)
	return set
}

// FormOfParent is a parent Application in the form of an ApplicationSet, for those who look at its annotations only.
func FormOfParent(app *argo.Application) *argo.ApplicationSet {
	set := &argo.ApplicationSet{ObjectMeta: *app.ObjectMeta.DeepCopy()}
	set.Name, set.UID = policy.NameOfParent(app.Name), UIDOfParent(app.Namespace, app.Name)
	return set
}

// toDeploy are the children that a parent has yet to create or to change, with their waves as they are to be.
func toDeploy(app *argo.Application) map[string]policy.Recorded {
	all := map[string]policy.Recorded{}
	for i := range app.Status.Resources {
		r := &app.Status.Resources[i]
		if r.Group == argo.SchemeGroupVersion.Group && r.Kind == "Application" && r.Namespace == app.Namespace &&
			r.Status == argo.SyncStatusCodeOutOfSync && !r.RequiresPruning {
			all[r.Name] = policy.Recorded{Step: policy.WaveStep(int(r.SyncWave)) + 1}
		}
	}
	return all
}
