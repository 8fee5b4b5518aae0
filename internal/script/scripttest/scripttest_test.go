package scripttest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/script"
)

const seed = 1

// report runs a property and returns what a failing test prints.
func report(t *testing.T, p gopter.Prop) string {
	t.Helper()
	properties := gopter.NewProperties(gopter.DefaultTestParametersWithSeed(seed))
	properties.Property("law", p)
	var out bytes.Buffer
	assert.False(t, properties.Run(gopter.NewFormatedReporter(false, 75, &out)), "the law holds")
	return out.String()
}

// TestFailureIsShort breaks a law that needs 3 packets queued when one departs, a
// while after the first arrived, and reads what is printed.
func TestFailureIsShort(t *testing.T) {
	holds := func(s script.Script, _ uint64) bool {
		held := true
		m := script.Machine{Judged: func(j script.Judgement) error {
			if j.AtDequeue && j.Occupancy.Packets >= 2 && j.Now.Sub(j.Packet.EnqueuedAt) >= time.Millisecond {
				held = false
			}
			return nil
		}}
		return m.Run(s, aqm.TailDrop{}) == nil && held
	}
	for name, g := range map[string]gopter.Gen{"random": Random(3000, time.Millisecond), "hostile": Hostile(3000, time.Millisecond)} {
		t.Run(name, func(t *testing.T) {
			out := report(t, ForAll(holds, g, gen.UInt64()))
			start, end := strings.Index(out, "script.Script{"), strings.Index(out, "\n}")
			require.Positive(t, start, out)
			require.Greater(t, end, start, out)
			s := parse(t, out[start:end+2])
			assert.Len(t, s, 4, out)
			assert.False(t, holds(s, 0), "the code that is printed breaks the law:\n%s", out)
			for i, op := range s {
				assert.Zero(t, op.Wait%time.Microsecond, out)
				if i < 3 {
					assert.Equal(t, script.Op{Kind: script.Arrive, Wait: op.Wait, Size: 1500}, op, out)
				}
			}
			assert.Contains(t, out, "3000 operations")
			assert.Less(t, strings.Count(out, "\n"), 15, "what was drawn is not printed")
		})
	}
}

// TestPrintedCode reads every kind of operation back from its Go code.
func TestPrintedCode(t *testing.T) {
	s := script.Script{
		{Kind: script.Arrive, Wait: 5, Size: 70000, ECN: aqm.CE, Class: aqm.Data | aqm.ECE},
		{Kind: script.Depart, Wait: -time.Hour},
		{Kind: script.Flush},
		{Kind: script.Reconfigure, N: 7},
		{Kind: script.LimitPackets, N: 1},
		{Kind: script.LimitBytes, Wait: 1 << 62, N: 1_000_000},
	}
	assert.Equal(t, s, parse(t, s.String()))
	assert.Equal(t, script.Script{}, parse(t, script.Script(nil).String()))
	for _, g := range []gopter.Gen{Random(500, time.Microsecond), Hostile(500, time.Second)} {
		v, ok := g(gopter.DefaultGenParameters().CloneWithSeed(seed)).Retrieve()
		require.True(t, ok)
		assert.Equal(t, v, parse(t, v.(script.Script).String()))
	}
}

// TestShrinkEnds sees every step simpler than the script before it, whatever fails.
func TestShrinkEnds(t *testing.T) {
	v, _ := Hostile(60, time.Millisecond)(gopter.DefaultGenParameters().CloneWithSeed(seed)).Retrieve()
	s := v.(script.Script)
	steps := 0
	for ; steps < 1000; steps++ {
		next, ok := Shrinker(s)()
		if !ok {
			break
		}
		require.NotEqual(t, s, next)
		s = next.(script.Script)
	}
	assert.Empty(t, s)
	assert.Less(t, steps, 20)

	// The first step that changes no length, again and again.
	s = v.(script.Script)
	for steps = 0; steps < 1000; steps++ {
		shrink := Shrinker(s).Filter(func(v any) bool { return len(v.(script.Script)) == len(s) })
		next, ok := shrink()
		if !ok {
			break
		}
		s = next.(script.Script)
	}
	assert.Less(t, steps, 1000)
	for _, op := range s {
		assert.Zero(t, op.Wait)
		assert.Zero(t, op.Class)
	}
	_, ok := Shrinker("no script")()
	assert.False(t, ok)
}

// parse reads Go code as a compiler would, as far as scripts need it.
func parse(t *testing.T, code string) script.Script {
	t.Helper()
	e, err := parser.ParseExpr(code)
	require.NoError(t, err, code)
	s := script.Script{}
	kinds := map[string]script.Kind{}
	for k := script.Arrive; k <= script.LimitBytes; k++ {
		kinds[k.String()] = k
	}
	for _, elt := range e.(*ast.CompositeLit).Elts {
		var op script.Op
		for _, field := range elt.(*ast.CompositeLit).Elts {
			kv := field.(*ast.KeyValueExpr)
			name := kv.Key.(*ast.Ident).Name
			if name == "Kind" {
				kind, ok := kinds[kv.Value.(*ast.SelectorExpr).Sel.Name]
				require.True(t, ok, code)
				op.Kind = kind
				continue
			}
			n := number(t, kv.Value)
			switch name {
			case "Wait":
				op.Wait = time.Duration(n)
			case "Size":
				op.Size = uint32(n)
			case "ECN":
				op.ECN = aqm.ECN(n)
			case "Class":
				op.Class = aqm.Class(n)
			case "N":
				op.N = int(n)
			default:
				require.Fail(t, fmt.Sprintf("field %s", name), code)
			}
		}
		s = append(s, op)
	}
	return s
}

func number(t *testing.T, e ast.Expr) int64 {
	t.Helper()
	if u, ok := e.(*ast.UnaryExpr); ok {
		return -number(t, u.X)
	}
	n, err := strconv.ParseInt(e.(*ast.BasicLit).Value, 10, 64)
	require.NoError(t, err)
	return n
}
