package doctor

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Emergency is the document of the ways to take the gate out of the way.
type Emergency struct {
	metav1.TypeMeta `json:",inline"`
	Ways            []Way `json:"ways"`
}

// NewEmergency makes the document.
func NewEmergency(ways []Way) *Emergency {
	return &Emergency{
		TypeMeta: metav1.TypeMeta{APIVersion: "cli.stepgate.io/v1alpha1", Kind: "DoctorEmergency"}, Ways: ways,
	}
}

// DeepCopyObject implements runtime.Object.
func (e *Emergency) DeepCopyObject() runtime.Object {
	deep := NewEmergency(nil)
	for _, w := range e.Ways {
		w.Commands, w.Back = append([]string(nil), w.Commands...), append([]string(nil), w.Back...)
		deep.Ways = append(deep.Ways, w)
	}
	return deep
}

// Mutates reports whether a release that gates a namespace has to answer with its mutating webhook.
func (f *Facts) Mutates(namespace string) bool {
	for _, r := range f.Releases {
		if r.Flags != nil && r.gated(namespace) && r.Flags.mutates() {
			return true
		}
	}
	return false
}
