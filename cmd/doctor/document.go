// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Emergency is the document of the ways to take the gate out of the way.
type Emergency struct {
	metav1.TypeMeta `json:",inline"`
	Ways            []Way `json:"ways"`
	// Unread says what could not be read of the cluster; names in the ways may then be the usual ones.
	Unread string `json:"unread,omitempty"`
}

// Emergency makes the document.
func (f *Facts) Emergency(ways []Way) *Emergency {
	return &Emergency{
		TypeMeta: metav1.TypeMeta{APIVersion: "cli.stepgate.io/v1alpha1", Kind: "DoctorEmergency"}, Ways: ways,
		Unread: f.Unread(),
	}
}

// DeepCopyObject implements runtime.Object.
func (e *Emergency) DeepCopyObject() runtime.Object {
	deep := &Emergency{TypeMeta: e.TypeMeta, Unread: e.Unread}
	for _, w := range e.Ways {
		w.Commands, w.Back = slices.Clone(w.Commands), slices.Clone(w.Back)
		w.Commits, w.BackCommits = slices.Clone(w.Commits), slices.Clone(w.BackCommits)
		deep.Ways = append(deep.Ways, w)
	}
	return deep
}
