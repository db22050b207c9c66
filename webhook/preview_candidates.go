package webhook

import (
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/stepgate/stepgate/webhook/judge"
)

// Candidates are what the Application of a write could deploy, newest first, as the mutating webhook tells of them; none
// where the gate has no say in the write.
func (p *Preview) Candidates(req admissionv1.AdmissionRequest) ([]Candidate, error) {
	w, err := judge.NewWrite(req)
	if err != nil {
		return nil, err
	}
	in, ok := p.judge.Cached(w, p.known)
	if !ok {
		return nil, nil
	}
	return p.mutator.candidatesOf(in), nil
}
