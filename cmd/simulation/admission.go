// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	jsonpatch "github.com/evanphx/json-patch/v5"
	jsonpatchv2 "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	admission "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// admissionOf is a write as the API server sends it.
func (s *stepgate) admissionOf(write Write) admission.AdmissionRequest {
	request := admission.AdmissionRequest{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Kind: metav1.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		Namespace: write.New.Namespace, Name: write.New.Name, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: s.encode(write.New)}, UserInfo: authenticationv1.UserInfo{Username: write.By},
	}}
	if write.Old != nil {
		request.Operation, request.OldObject.Raw = admissionv1.Update, s.encode(write.Old)
	}
	return request
}

// encode remembers the JSON of an object, which is never changed but for its resourceVersion: nobody decodes that one.
func (s *stepgate) encode(app *argo.Application) []byte {
	return cached(s.encoded, app, func(app *argo.Application) []byte { return encode(app) })
}

func encode(object any) []byte {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // it is plain data
	}
	return raw
}

// patched is an operation after the patches of the mutating webhook. They may change nothing else. The rest of the
// object stays what it is in the world: its times are finer than JSON's.
func patched(op *argo.Operation, patches []jsonpatchv2.Operation) *argo.Operation {
	for _, p := range patches {
		if p.Path != "/operation" && !strings.HasPrefix(p.Path, "/operation/") {
			panic("the mutating webhook changes " + p.Path)
		}
	}
	if len(patches) == 1 && patches[0].Path == "/operation" && patches[0].Operation == "remove" {
		return nil // most are held
	}
	patch, err := jsonpatch.DecodePatch(encode(patches))
	if err != nil {
		panic(err)
	}
	raw, err := patch.Apply(encode(map[string]any{"operation": op}))
	if err != nil {
		panic(err)
	}
	var changed struct{ Operation *argo.Operation }
	if err := json.Unmarshal(raw, &changed); err != nil {
		panic(err)
	}
	return changed.Operation
}

// stamp gives the last operation of an Application the stamp that the mutating webhook would have written.
func stamp(app *argo.Application) {
	asked := *app
	asked.Operation = &app.Status.OperationState.Operation
	decoded, err := argocd.Decode(encode(&asked))
	if err != nil {
		panic(err)
	}
	stamped, _ := argocd.Stamped(decoded, nil)
	app.Status.OperationState.Operation.Info = stamped.Operation.Info
}

// stamped reports whether it is written down what the last operation of an Application has deployed.
func stamped(app *argo.Application) bool {
	state := app.Status.OperationState
	return state != nil && slices.ContainsFunc(state.Operation.Info, func(i *argo.Info) bool {
		return i.Name == argocd.StampInfo
	})
}

func short(who string) string {
	return who[strings.LastIndex(who, ":")+1:]
}

func pinnedTo(op *argo.Operation) string {
	switch {
	case op.Sync == nil:
		return ""
	case len(op.Sync.Revisions) > 0:
		return fmt.Sprint(" to ", op.Sync.Revisions)
	case op.Sync.Revision != "":
		return " to " + op.Sync.Revision
	}
	return ""
}
