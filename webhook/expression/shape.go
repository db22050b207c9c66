// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// shape says what is wrong with an expression whose values could grow, or whose loops could go over the same things again
// and again. What is left cannot become larger than the object, as each value is a part of it, or a constant.
func shape(e ast.Expr, loop string) error {
	switch e.Kind() {
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			if element.Kind() != ast.LiteralKind {
				return errors.New("a list may have constants only")
			}
		}
	case ast.MapKind, ast.StructKind:
		return errors.New("it cannot make maps or messages")
	case ast.SelectKind:
		return shape(e.AsSelect().Operand(), loop)
	case ast.CallKind:
		return shapeOfCall(e.AsCall(), loop)
	case ast.ComprehensionKind:
		return shapeOfLoop(e.AsComprehension(), loop)
	default:
	}
	return nil
}

func shapeOfCall(c ast.CallExpr, loop string) error {
	if c.IsMemberFunction() {
		if err := shape(c.Target(), loop); err != nil {
			return err
		}
	}
	for _, argument := range c.Args() {
		if err := shape(argument, loop); err != nil {
			return err
		}
	}
	return nil
}

// shapeOfLoop wants a loop within another to go over a part of what the outer one has at hand: together they then see
// each part of the object once.
func shapeOfLoop(c ast.ComprehensionExpr, loop string) error {
	if loop != "" && root(c.IterRange()) != loop {
		return errors.New("a loop within a loop has to go over a part of the outer one's variable")
	}
	for _, e := range []ast.Expr{c.IterRange(), c.AccuInit()} {
		if err := shape(e, loop); err != nil {
			return err
		}
	}
	for _, e := range []ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
		if err := shape(e, c.IterVar()); err != nil {
			return err
		}
	}
	return nil
}

// root is the variable of which an expression is a part; empty if it is none.
func root(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		return root(e.AsSelect().Operand())
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index && c.Args()[1].Kind() == ast.LiteralKind {
			return root(c.Args()[0])
		}
	default:
	}
	return ""
}
