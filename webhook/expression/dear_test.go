// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	. "github.com/onsi/gomega"
)

// What an expression may cost, to compile and to ask.
const (
	mostTime = 50 * time.Millisecond * slower
	// mostMemory is how many times the size of an expression and of its object an evaluation may allocate.
	mostMemory = 8
	// largestObject is the one that is read live.
	largestObject = 256 << 10
)

// cost is the least of some attempts, because others use the machine as well.
func cost(f func()) (took time.Duration, allocated uint64) {
	took = time.Hour
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		f()
		took = min(took, time.Since(start))
		runtime.ReadMemStats(&after)
		allocated = after.TotalAlloc - before.TotalAlloc
		if took < mostTime {
			return took, allocated
		}
	}
	return took, allocated
}

// large are objects of the largest size, each dear in another way, and how much memory they take.
func large(g *WithT) (all []map[string]any, size uint64) {
	many := func(one string, n int) string { return "[" + strings.Repeat(one+",", n) + one + "]" }
	keys := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&keys, `"%d":{"a":[1]},`, i)
	}
	for _, text := range []string{
		`{"a":` + many("1", 120_000) + `}`,
		`{"a":` + many(many(`{"a":"b"}`, 20), 1000) + `}`,
		`{"a":` + many("[[[]]]", 36_000) + `}`,
		`{"a":{` + keys.String() + `"a":1}}`,
		`{"a":"` + strings.Repeat("x", 250_000) + `"}`,
		`{"a":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}`,
		`{"a":{"a":{"a":{"a":{}}}}}`,
	} {
		g.Expect(len(text)).To(BeNumerically("<", largestObject))
		o := map[string]any{}
		g.Expect(json.Unmarshal([]byte(text), &o)).To(Succeed())
		all = append(all, o)
	}
	return all, largestObject
}

// filled repeats what opens and what shuts as often as there is room, and less deep.
func filled(open, middle, shut string) (all []string) {
	longest := (Longest - len(middle)) / (len(open) + len(shut))
	for _, n := range []int{4, mostDeep - 4, longest / 2, longest} {
		if n <= longest {
			all = append(all, strings.Repeat(open, n)+middle+strings.Repeat(shut, n))
		}
	}
	return all
}

// dear are expressions that might be dear, by their shape.
func dear() (all []string) {
	for _, s := range [][3]string{
		{"(", "true", ")"}, {"[", "1", "]"}, {"!", "true", ""}, {"-", "1", ""}, {"", "object", ".a"}, {"", "object", "[0]"},
		{"1+", "1", ""}, {"1==", "1", ""}, {"1<", "1", ""}, {"true&&", "true", ""}, {"true||", "true", ""},
		{"false||", "true", ""}, {"true?", "true", ":true"}, {"true?true:", "true", ""}, {"(a?", "b", ":c)"}, {"{1:", "1", "}"},
		{"a{b:", "1", "}"}, {"has(a.b)&&", "true", ""}, {"has(object.a)&&", "true", ""}, {"a.b(", "1", ")"}, {"f(", "", ","},
		{"size(", "object", ")"}, {"string(", "object.a", ")"}, {"", "'a'", ".replace('a','aa')"},
		{"", "optional.of(1)", ".optMap(a,a)"}, {"", "object.a", ".map(a,a)"}, {"(", "", ""}, {"[", "", ""}, {"'", "", ""},
		{"\"", "", ""}, {"?", "", ""}, {"`", "", ""}, {"\\", "", ""}, {"\xff", "", ""}, {"\x00", "", ""}, {"//\n", "1", ""},
		{"1in", "[1]", ""}, {"[1,2,", "1", "]"}, {"a.all(b,", "true", ")"}, {"[1].all(b,", "true", ")"},
		{"object.a.all(a,true)&&", "true", ""}, {"object.a.all(a,a.all(b,true))&&", "true", ""},
		{"object.a in[1,2,3]||", "true", ""}, {"object==object&&", "true", ""}, {"object.a==object.a||", "true", ""},
		{"object in object.a||", "true", ""}, {"size(object.a)>0&&", "true", ""}, {"object.a.contains(object.a)&&", "true", ""},
	} {
		all = append(all, filled(s[0], s[1], s[2])...)
	}
	for _, of := range []string{
		"true", "true||false", "!(false&&true)", "true?true:false", "x==1||x==2||x==3", "object==object", "x==x",
		"object in object.a", "size(object.a)>0", "int(object.a)==1||true", "object[object.a]==1||true", "has(object.a)",
		"object.a[x]==1||true", "x.all(y,true)", "x.all(y,y==y)", "x.all(y,y.a=='b')", "x.exists(y,true)||true", "object.a.exists(y,true)",
		"timestamp(object.a)>timestamp(object.a)||true", "string(object.a)==object.a",
		strings.TrimSuffix(strings.Repeat("true||", 150), "||"), strings.TrimSuffix(strings.Repeat("x==x&&", 120), "&&"),
	} {
		all = append(all, "object.a.all(x,"+of+")", "object.a.exists(x,!("+of+"))")
	}
	return all
}

// TestNoExpressionIsDear compiles all, and asks all that can be compiled of all objects.
func TestNoExpressionIsDear(t *testing.T) {
	g := NewWithT(t)
	objects, size := large(g)
	source := rand.New(rand.NewSource(1))
	for _, text := range append(dear(), random(source, 100)...) {
		var program *Program
		took, _ := cost(func() { program, _ = compile(text) })
		g.Expect(took).To(BeNumerically("<", mostTime), "compiling %q", text)
		for i := range objects {
			if program == nil {
				break
			}
			took, allocated := cost(func() { program.Says(objects[i]) })
			g.Expect(took).To(BeNumerically("<", mostTime), "asking %q of object %d", text, i)
			g.Expect(allocated).To(BeNumerically("<", mostMemory*(uint64(len(text))+size)), "asking %q of object %d", text, i)
		}
	}
}

// random are texts of what CEL is made of.
func random(r *rand.Rand, n int) (all []string) {
	tokens := append(strings.Fields(`object . a ( ) [ ] { } , : ? ! - + * / % < <= == != in && 1 1.5 'x' "y" true null `+
		`.all(x, .exists(y, has( object.a.b size( int( x y [1,2] b'x' r'x' .?a [?0] a{ // 1u 0x1f .map( .filter( optional.of( '''`),
		" in ", "||", "\n")
	for range n {
		few := make([]string, 1+r.Intn(6))
		for i := range few {
			few[i] = tokens[r.Intn(len(tokens))]
		}
		var text strings.Builder
		for text.Len() < Longest-20 {
			if from := tokens; r.Intn(4) > 0 {
				text.WriteString(few[r.Intn(len(few))])
			} else {
				text.WriteString(from[r.Intn(len(from))])
			}
		}
		all = append(all, text.String())
	}
	return all
}

// TestTheMeasureSeesWhatIsDear takes the bounds out: CEL with all that it can do, as it was once used.
func TestTheMeasureSeesWhatIsDear(t *testing.T) {
	g := NewWithT(t)
	everything, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.OptionalTypes(), ext.Strings())
	g.Expect(err).NotTo(HaveOccurred())
	took, _ := cost(func() {
		_, _ = everything.Compile("optional.of([1,1,1,1,1,1,1,1,1])" + strings.Repeat(".optMap(a,a)", 7) + ".hasValue()")
	})
	g.Expect(took).To(BeNumerically(">", mostTime/slower), "macros that copy what they are given")
	long := "'aaaaaaaaaa'." + strings.Repeat("replace('a','aaaaaaaaaa').", 4) + "replace('a','" +
		strings.Repeat("a", 80) + "')=='b'"
	ast, issues := everything.Compile(long)
	g.Expect(issues.Err()).NotTo(HaveOccurred())
	program, err := everything.Program(ast, cel.CostLimit(1_000_000))
	g.Expect(err).NotTo(HaveOccurred())
	_, allocated := cost(func() { (&Program{program}).Says(nil) })
	g.Expect(allocated).To(BeNumerically(">", mostMemory*(uint64(len(long))+largestObject)),
		"functions that make long texts")
}

// FuzzCompile compiles any text in little time, and asks it of an object.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		"object.status.succeeded > 0", "object.status.phase == 'Good' ? 'yes' : 'no'", "object.a.all(x, x.exists(y, has(y.a)))",
		"1 + 2 in [1, 2, 3]", "optional.of([1]).optMap(a,a).optMap(a,a).hasValue()", "'a'.replace('a','aa')", "object.?a[?0]", "\xff",
	} {
		f.Add(text)
	}
	objects, size := large(NewWithT(f))
	f.Fuzz(func(t *testing.T, text string) {
		c, g := NewCompiler(AnyKind), NewWithT(t)
		var program *Program
		took, _ := cost(func() { program, _ = c.Compile(jobs, text) })
		g.Expect(took).To(BeNumerically("<", mostTime))
		if program == nil {
			return
		}
		took, allocated := cost(func() { program.Says(objects[len(text)%len(objects)]) })
		g.Expect(took).To(BeNumerically("<", mostTime))
		g.Expect(allocated).To(BeNumerically("<", mostMemory*(uint64(len(text))+size)))
	})
}
