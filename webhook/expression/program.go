// SPDX-License-Identifier: Apache-2.0

// Package expression compiles the CEL expressions of stepgate.io/verify, and asks them of objects. What somebody writes
// is never dear: neither to compile, nor to ask.
package expression

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/stepgate/stepgate/policy"
)

// Program is a compiled expression. The zero value was never compiled, and says nothing.
type Program struct{ program cel.Program }

// Says is what an object says: true and "yes" say yes, "no" says no, and everything else says nothing yet. An error says
// nothing: what the expression asks for may not be there yet. The detail never has a text of the object.
func (p *Program) Says(object map[string]any) policy.Finding {
	if p.program == nil {
		return NotYet("its expression is not compiled")
	}
	out, _, err := p.program.Eval(map[string]any{"object": object})
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled):
		return NotYet("its expression is too dear for it")
	case err != nil:
		return NotYet("its expression gives no answer")
	}
	return answerOf(out)
}

func answerOf(out ref.Val) policy.Finding {
	switch out {
	case types.True, types.String("yes"):
		return policy.Finding{Answer: policy.Yes, Detail: "yes"}
	case types.String("no"):
		return policy.Finding{Answer: policy.No, Detail: "no"}
	}
	if out.Type() != types.BoolType && out.Type() != types.StringType {
		return NotYet("its expression gives no bool and no text")
	}
	return policy.Finding{Detail: "not yet"}
}

// NotYet is no answer, and why there is none.
func NotYet(why string) policy.Finding { return policy.Finding{Detail: "not yet (" + why + ")"} }
