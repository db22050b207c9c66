// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

const (
	// mostDeep bounds how deep an expression nests, and mostNodes how large it is when its macros are expanded.
	mostDeep  = 32
	mostNodes = 256
	// mostRepairs is how often the parser goes on after an error; one error is enough to be told.
	mostRepairs = 1
)

// functions are those of CEL that an expression may call, beside its operators. None makes a text or a list that
// is longer than what it was given, none compiles a regular expression, and none reads a file, as time zones would.
var functions = []string{
	overloads.Size, overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.TypeConvertInt,
	overloads.TypeConvertDouble, overloads.TypeConvertString, overloads.TypeConvertTimestamp,
	overloads.TypeConvertDuration,
}

// symbols are the operators of CEL that an expression may use, beside +, ==, != and in.
var symbols = []string{
	operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Index,
	operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
}

// macros are those of CEL that never copy what they are given. They expand once for each time they are written.
var macros = []string{operators.Has, operators.All, operators.Exists}

// environment has the variable object, and the part of CEL that cannot make much of little. The one of Kubernetes
// (k8s.io/apiserver/pkg/cel/environment) always has optional types, replace, join and format, and cannot be cut down.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	subset := &env.LibrarySubset{IncludeMacros: macros}
	for _, name := range append(symbols, functions...) {
		subset.IncludeFunctions = append(subset.IncludeFunctions, env.NewFunction(name))
	}
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(subset)), plus(), contained(), compared(operators.Equals, "==", true),
		compared(operators.NotEquals, "!=", false), cel.Variable("object", cel.DynType),
		cel.CrossTypeNumericComparisons(true), cel.ParserRecursionLimit(mostDeep), cel.ExpressionNodeLimit(mostNodes),
		cel.ParserErrorRecoveryLimit(mostRepairs), cel.ParserExpressionSizeLimit(Longest),
	)
})

// plus adds numbers. CEL's own also joins texts and lists.
func plus() cel.EnvOption {
	add := func(a, b ref.Val) ref.Val {
		switch a := a.(type) {
		case types.Int:
			return a.Add(b)
		case types.Double:
			return a.Add(b)
		}
		return types.MaybeNoSuchOverloadErr(a)
	}
	return cel.Function(operators.Add,
		cel.Overload(overloads.AddInt64, []*cel.Type{cel.IntType, cel.IntType}, cel.IntType, cel.BinaryBinding(add)),
		cel.Overload(overloads.AddDouble, []*cel.Type{cel.DoubleType, cel.DoubleType}, cel.DoubleType,
			cel.BinaryBinding(add)))
}

// contained looks for something in a list or a map, if that is not too much to go through.
func contained() cel.EnvOption {
	in := cel.BinaryBinding(func(what, all ref.Val) ref.Val {
		if c, ok := all.(traits.Container); ok && affordable(what, all) {
			return c.Contains(what)
		}
		return types.MaybeNoSuchOverloadErr(all)
	})
	a, b := cel.TypeParamType("A"), cel.TypeParamType("B")
	return cel.Function(operators.In,
		cel.Overload(overloads.InList, []*cel.Type{a, cel.ListType(a)}, cel.BoolType, in),
		cel.Overload(overloads.InMap, []*cel.Type{a, cel.MapType(a, b)}, cel.BoolType, in))
}

// compared is an operator that compares two values, if that is not too much to go through. Those of CEL cannot be
// replaced, and so a macro gives the operator another name.
func compared(operator, name string, equal types.Bool) cel.EnvOption {
	compare := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		if !affordable(a, b) {
			return types.NewErr("too much to compare")
		}
		return types.Bool(types.Equal(a, b) == equal)
	})
	a := cel.TypeParamType("A")
	renamed := cel.GlobalMacro(operator, 2, func(
		f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr,
	) (ast.Expr, *cel.Error) {
		return f.NewCall(name, args...), nil
	})
	function := cel.Function(name, cel.Overload(name, []*cel.Type{a, a}, cel.BoolType, compare))
	return func(e *cel.Env) (*cel.Env, error) {
		if e, err := cel.Macros(renamed)(e); err != nil {
			return e, err
		}
		return function(e)
	}
}
