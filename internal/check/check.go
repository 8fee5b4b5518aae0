// Package check collects all that is wrong with a configuration.
package check

import (
	"errors"
	"fmt"
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

// List collects the violations of one package's Config. The zero List but for its
// package's name is ready to use.
type List struct {
	pkg  string
	errs []error
}

// For returns an empty list whose messages start with the name of pkg.
func For(pkg string) *List { return &List{pkg: pkg} }

// Require adds "pkg: field = value unit, must be bound" unless ok. Comparisons
// belong in ok such that NaN makes it false. The arguments after bound are
// formatted into it.
func (l *List) Require(ok bool, field string, value any, unit, bound string, args ...any) {
	if ok {
		return
	}
	if unit != "" {
		unit = " " + unit
	}
	l.errs = append(l.errs, fmt.Errorf("%s: %s = %v%s, must be %s: %w",
		l.pkg, field, value, unit, fmt.Sprintf(bound, args...), aqm.ErrConfig))
}

// Err returns all that was added, joined, or nil.
func (l *List) Err() error { return errors.Join(l.errs...) }

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
