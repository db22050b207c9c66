// Package expression compiles the CEL expressions of stepgate.io/verify, and asks them of objects.
package expression

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/stepgate/stepgate/policy"
)

const (
	// costLimit bounds an evaluation, in CEL's units: the same as for one matchCondition of a webhook
	// (celconfig.PerCallLimit of k8s.io/apiserver). It takes some ten milliseconds.
	costLimit = 1_000_000
	// mostPrograms bounds the expressions that are kept compiled, and keptFor is for how long.
	mostPrograms = 256
	keptFor      = 24 * time.Hour
)

// environment has the variable object, optional fields, and CEL's extensions for strings.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.Variable("object", cel.DynType), cel.OptionalTypes(), ext.Strings())
})

// Program is a compiled expression.
type Program struct{ program cel.Program }

// Compiler compiles expressions, and keeps what it has compiled. It may be used side by side.
type Compiler struct{ kept *cache.LRUExpireCache }

// NewCompiler returns a Compiler.
func NewCompiler() *Compiler { return &Compiler{kept: cache.NewLRUExpireCache(mostPrograms)} }

// compiled is a Program, or why there is none.
type compiled struct {
	program *Program
	err     error
}

// Compile returns the Program of an expression, or says why it is not valid. It has to give a bool or a text.
func (c *Compiler) Compile(text string) (*Program, error) {
	if known, ok := c.kept.Get(text); ok {
		if c, ok := known.(compiled); ok {
			return c.program, c.err
		}
	}
	program, err := compile(text)
	c.kept.Add(text, compiled{program, err}, keptFor)
	return program, err
}

func compile(text string) (*Program, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("its expression is not valid: %s", firstLine(issues.Err()))
	}
	if t := ast.OutputType(); !t.IsAssignableType(cel.BoolType) && !t.IsAssignableType(cel.StringType) &&
		!t.IsAssignableType(cel.DynType) {
		return nil, fmt.Errorf("its expression gives %s, not a bool or one of \"yes\", \"no\" and \"wait\"", t)
	}
	program, err := env.Program(ast, cel.CostLimit(costLimit))
	if err != nil {
		return nil, fmt.Errorf("its expression is not valid: %s", firstLine(err))
	}
	return &Program{program}, nil
}

// Says is what an object says: true and "yes" say yes, "no" says no, and everything else says nothing yet. An error says
// nothing: what the expression asks for may not be there yet.
func (p *Program) Says(object map[string]any) policy.Finding {
	out, _, err := p.program.Eval(map[string]any{"object": object})
	if err != nil {
		return policy.Finding{Detail: "its expression gives no answer: " + firstLine(err)}
	}
	return answerOf(out)
}

func answerOf(out ref.Val) policy.Finding {
	if yes, err := out.ConvertToNative(reflect.TypeFor[bool]()); err == nil {
		if yes == true {
			return policy.Finding{Answer: policy.Yes, Detail: "true"}
		}
		return policy.Finding{Detail: "false"}
	}
	text, err := out.ConvertToNative(reflect.TypeFor[string]())
	if err != nil {
		return policy.Finding{Detail: "its expression gives no bool and no text"}
	}
	switch text {
	case "yes":
		return policy.Finding{Answer: policy.Yes, Detail: "yes"}
	case "no":
		return policy.Finding{Answer: policy.No, Detail: "no"}
	}
	return policy.Finding{Detail: fmt.Sprintf("%v", text)}
}

// firstLine is an error in one line; CEL's show the expression below it.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
