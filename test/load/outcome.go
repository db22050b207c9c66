// SPDX-License-Identifier: Apache-2.0

package load

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Want is the right answer to a write.
type Want int

const (
	// Denied is right while an earlier step is not done: the operation is refused, or held.
	Denied Want = iota
	// Admitted is right when all earlier steps are done.
	Admitted
	// Regardless is for a write in which stepgate has no say: it is admitted, whatever the state.
	Regardless
)

// Outcome is the result of a write.
type Outcome int

const (
	// Right is the right answer.
	Right Outcome = iota
	// Failed is no answer: neither admitted nor denied by a decision. In enforce mode that is safe.
	Failed
	// WrongAllow was admitted, and had to be denied.
	WrongAllow
	// WrongDeny was denied by a decision and had to be admitted, or failed although stepgate has no say in it.
	WrongDeny
)

// String names it.
func (o Outcome) String() string {
	return [...]string{"right", "no decision", "wrong allow", "wrong deny"}[o]
}

// denial is how the API server begins the text of a denial by stepgate.
const denial = `admission webhook "operation.stepgate.io" denied the request: `

// notPinned is in the text of a denial if the mutating webhook did not answer.
const notPinned = "(NotPinned: "

// Judge compares the API server's answer with the right one. held says that the write was admitted without its
// operation, which is the right answer where an operation has to be denied. A denial because the operation was not
// pinned is no decision on the Applications of earlier steps.
func Judge(want Want, err error, held bool) Outcome {
	decided := held || refused(err)
	switch {
	case decided && want == Admitted && err != nil && strings.Contains(err.Error(), notPinned):
		return Failed
	case !decided && err == nil && want == Denied:
		return WrongAllow
	case !decided && err == nil || decided && want == Denied:
		return Right
	case decided || want == Regardless:
		return WrongDeny
	}
	return Failed
}

// refused reports whether stepgate has denied a write.
func refused(err error) bool {
	return err != nil && apierrors.IsForbidden(err) && strings.Contains(err.Error(), denial)
}
