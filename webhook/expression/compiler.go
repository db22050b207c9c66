// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// Longest bounds an expression, in bytes.
	Longest = 1024
	// mostPrograms bounds the expressions that are kept compiled, and keptFor is for how long.
	mostPrograms = 256
	keptFor      = 24 * time.Hour
)

// Compiler compiles expressions, each once for all who ask, and keeps what has come of it. Its zero value, and nil,
// compile nothing.
type Compiler struct {
	reads   func(schema.GroupResource) bool
	compile func(text string) (*Program, error)
	kept    *cache.LRUExpireCache
	flights singleflight.Group
}

// NewCompiler returns a Compiler of expressions about the kinds that an installation reads.
func NewCompiler(reads func(schema.GroupResource) bool) *Compiler {
	return &Compiler{reads: reads, compile: compile, kept: cache.NewLRUExpireCache(mostPrograms)}
}

// AnyKind is for whoever does not know the installation.
func AnyKind(schema.GroupResource) bool { return true }

// compiled is a Program, or why there is none.
type compiled struct {
	program *Program
	err     error
}

// Compile returns the Program of an expression about objects of a kind, or says why it is not valid. It has to give a
// bool or a text. If nobody reads the kind, it compiles nothing, and the Program says nothing.
func (c *Compiler) Compile(kind schema.GroupResource, text string) (*Program, error) {
	if len(text) > Longest {
		return nil, fmt.Errorf("its expression has %d bytes, more than %d", len(text), Longest)
	}
	if c == nil || c.reads == nil || !c.reads(kind) {
		return &Program{}, nil
	}
	if known, ok := c.kept.Get(text); ok {
		return result(known)
	}
	made, _, _ := c.flights.Do(text, func() (any, error) {
		program, err := c.compile(text)
		c.kept.Add(text, compiled{program, err}, keptFor)
		return compiled{program, err}, nil
	})
	return result(made)
}

func result(made any) (*Program, error) {
	r, _ := made.(compiled)
	return r.program, r.err
}

// compile looks at the shape and at the cost before it makes anything of an expression.
func compile(text string) (*Program, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	parsed, issues := env.Parse(text)
	if err := first(issues); err != nil {
		return nil, err
	}
	if err := shape(parsed.NativeRep().Expr(), ""); err != nil {
		return nil, invalid(err)
	}
	checked, issues := env.Check(parsed)
	if err := first(issues); err != nil {
		return nil, err
	}
	if t := checked.OutputType(); !t.IsAssignableType(cel.BoolType) && !t.IsAssignableType(cel.StringType) &&
		!t.IsAssignableType(cel.DynType) {
		return nil, fmt.Errorf("its expression gives %s, not a bool or one of \"yes\", \"no\" and \"wait\"", t)
	}
	if err := estimate(env, checked); err != nil {
		return nil, fmt.Errorf("its expression is too dear: %w", err)
	}
	program, err := env.Program(checked, cel.CostLimit(costLimit), cel.CostTracking(weight{}))
	if err != nil {
		return nil, invalid(err)
	}
	return &Program{program}, nil
}

// first says what is wrong at the first place. There may be hundreds, and CEL would show the whole expression for each.
func first(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return nil
	}
	text, _, _ := strings.Cut(all[0].Message, " (in container")
	if at := all[0].Location.Column(); at >= 0 {
		text += fmt.Sprintf(" at character %d", at+1)
	}
	return invalid(errors.New(text))
}

func invalid(err error) error { return fmt.Errorf("its expression is not valid: %w", err) }
