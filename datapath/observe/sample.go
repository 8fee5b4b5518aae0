package observe

import (
	"math"
	"reflect"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/pi"
	"github.com/aqmkit/aqmkit/pie"
	"github.com/aqmkit/aqmkit/red"
	"github.com/aqmkit/aqmkit/rem"
	"github.com/aqmkit/aqmkit/threshold"
)

// Field names a number of a State.
type Field struct {
	Layer string // the type that has the State, such as CoDel or Policy
	Name  string // the field, such as Count; times and durations are in seconds
}

// Sample is what an algorithm, and every decorator around it, said of themselves.
type Sample struct {
	At             aqm.Time
	Packets, Bytes int64   // in the queue
	Probability    float64 // of the outermost that has one; NaN if none has
	Fields         []Field // the same at all times
	Values         []float64
}

// As returns the outermost of a and of what it is around that is a T, be T an
// interface or a type of algorithm:
//
//	p, ok := observe.As[interface{ Probability() float64 }](a)
//	c, ok := observe.As[*codel.CoDel](a)
//
// Decorators are looked through by their method Unwrap() aqm.AQM.
func As[T any](a aqm.AQM) (T, bool) {
	for range maxLayers {
		if t, ok := a.(T); ok {
			return t, true
		}
		u, ok := a.(interface{ Unwrap() aqm.AQM })
		if !ok {
			break
		}
		a = u.Unwrap()
	}
	var none T
	return none, false
}

// maxLayers is how many decorators are looked through: one that has itself inside
// must not take for ever.
const maxLayers = 100

// gauges reads the State of all layers.
type gauges struct {
	probability interface{ Probability() float64 } // or nil
	fields      []Field
	layers      []layer
}

// layer reads one State.
type layer struct {
	read   func() reflect.Value
	fields []int // of its result, those that are numbers
}

func gaugesOf(a aqm.AQM) (g gauges) {
	g.probability, _ = As[interface{ Probability() float64 }](a)
	for range maxLayers {
		if a == nil {
			break
		}
		g.add(a)
		u, ok := a.(interface{ Unwrap() aqm.AQM })
		if !ok {
			break
		}
		a = u.Unwrap()
	}
	return g
}

func (g *gauges) add(a aqm.AQM) {
	l := layer{read: stateOf(a)}
	if l.read == nil {
		return
	}
	name := reflect.Indirect(reflect.ValueOf(a)).Type().Name()
	state := l.read()
	for i := range state.NumField() {
		f := state.Type().Field(i)
		if _, ok := number(reflect.Zero(f.Type)); ok && f.IsExported() {
			l.fields = append(l.fields, i)
			g.fields = append(g.fields, Field{name, f.Name})
		}
	}
	g.layers = append(g.layers, l)
}

// stateOf returns what reads a's State, or nil if it has none.
func stateOf(a aqm.AQM) func() reflect.Value {
	switch a := a.(type) {
	case interface{ State() codel.State }:
		return reader(a.State)
	case interface{ State() ecnpolicy.State }:
		return reader(a.State)
	case interface{ State() pi.State }:
		return reader(a.State)
	case interface{ State() pie.State }:
		return reader(a.State)
	case interface{ State() red.State }:
		return reader(a.State)
	case interface{ State() rem.State }:
		return reader(a.State)
	case interface{ State() threshold.State }:
		return reader(a.State)
	}
	// A stranger's type is not known here, and a call through reflection allocates.
	m := reflect.ValueOf(a).MethodByName("State")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0).Kind() != reflect.Struct {
		return nil
	}
	return func() reflect.Value { return m.Call(nil)[0] }
}

// reader returns a function that reads a State into memory of its own.
func reader[S any](state func() S) func() reflect.Value {
	s := new(S)
	v := reflect.ValueOf(s).Elem()
	return func() reflect.Value {
		*s = state()
		return v
	}
}

// number returns v as a float64 if it is a number or a bool.
func number(v reflect.Value) (x float64, ok bool) {
	switch {
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			x = 1
		}
	case v.CanInt():
		x = float64(v.Int())
		if v.Type() == reflect.TypeFor[time.Duration]() || v.Type() == reflect.TypeFor[aqm.Time]() {
			x /= 1e9
		}
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	default:
		return 0, false
	}
	return x, true
}

// sample fills s.
func (o *Observer) sample(s *Sample) {
	s.At, s.Probability = o.clock, math.NaN()
	if o.gauges.probability != nil {
		s.Probability = o.gauges.probability.Probability()
	}
	n := 0
	for _, l := range o.gauges.layers {
		state := l.read()
		for _, i := range l.fields {
			s.Values[n], _ = number(state.Field(i))
			n++
		}
	}
}
