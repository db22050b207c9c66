// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

const (
	// costLimit bounds an evaluation, in CEL's units. It takes some milliseconds. The observer of CEL looks for what it
	// has seen among all of that, so that the time of one loop grows with the square of it.
	costLimit = 3_000
	// usual is how many elements a list of an object has, or characters a text, for all that is known before.
	usual = 12
	// perUnit is how much of a value a call goes through at the cost of one unit, in bytes or elements.
	perUnit = 10
)

// estimate refuses what would be too dear for an object of usual size, and so would never give an answer.
func estimate(environment *cel.Env, checked *cel.Ast) error {
	cost, err := environment.EstimateCost(checked, usualSizes{})
	if err == nil && cost.Max > costLimit {
		err = fmt.Errorf("it may cost %d, more than %d", cost.Max, costLimit)
	}
	return err
}

// usualSizes is a checker.CostEstimator: nothing is known of an object.
type usualSizes struct{}

func (usualSizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Max: usual}
}

func (usualSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// budget is how much there is to go through in what all calls of an evaluation are given.
const budget = costLimit * perUnit

// weight is an interpreter.ActualCostEstimator: a call costs as much as there is to go through in what it is given. For
// CEL itself the size of a text, the comparison of two objects, or the text of an error cost next to nothing.
type weight struct{}

func (weight) CallCost(_, _ string, args []ref.Val, _ ref.Val) *uint64 {
	cost := uint64(1 + (budget-rest(args...))/perUnit) //nolint:gosec // there is never more left than at the start
	return &cost
}

// affordable reports whether a call may go through values.
func affordable(values ...ref.Val) bool { return rest(values...) > 0 }

// rest is what values leave of the budget. It looks no further when there is nothing left.
func rest(values ...ref.Val) int {
	left := budget
	for _, v := range values {
		left = weigh(v, left)
	}
	return left
}

// perContainer is what a list or a map weighs that has nothing in it: CEL makes a value of each that it comes to.
const perContainer = 8

func weigh(value any, left int) int {
	switch v := value.(type) {
	case string:
		return left - 1 - len(v)
	case types.String:
		return left - 1 - len(v)
	case []any:
		left -= perContainer
		for i := 0; i < len(v) && left > 0; i++ {
			left = weigh(v[i], left)
		}
		return left
	case []ref.Val:
		for i := 0; i < len(v) && left > 0; i++ {
			left = weigh(v[i], left)
		}
		return left
	case map[string]any:
		left -= perContainer
		for key, element := range v {
			if left = weigh(element, left-len(key)); left <= 0 {
				break
			}
		}
		return left
	case traits.Sizer: // a list or a map
		if v, ok := value.(ref.Val); ok && left > 0 {
			return weigh(v.Value(), left)
		}
	}
	return left - 1
}
