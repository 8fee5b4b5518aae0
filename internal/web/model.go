package web

import (
	"errors"
	"fmt"
	"strings"
)

// Model is how people browse. All times are in seconds, and sizes in bytes.
type Model struct {
	Name   string
	Source string

	Think    Dist // between pages
	Embedded Dist // objects of a page beside the main one; rounded down
	Main     Dist // size of a page's main object, with its header
	Object   Dist // size of an embedded object
	Request  Dist // size of a request
	Parse    Dist // from the main object's end to the first request for an embedded one

	Persistent float64 // share of pages over persistent connections; [0, 1]
	Persisting int     // connections at a time for such a page; > 0
	Parallel   int     // for the others
}

// CDMA2000 is the model for HTTP of 3GPP2 C.R1002 (cdma2000 evaluation methodology),
// which ns-3's ThreeGppHttpVariables have for their defaults; it goes back to the traces
// of H.-K. Choi and J. O. Limb, "A Behavioral Model of Web Traffic", ICNP 1999. The
// request is ns-3's, of 328 bytes. It has one kind of connection at a time; that half of
// the pages are persistent, and how many connections a page opens, is ours, after the
// limit of 2 in RFC 2616 section 8.1.4 and the 4 of browsers of that time.
func CDMA2000() Model {
	return Model{
		Name: "3gpp2", Source: "3GPP2 C.R1002 (Choi and Limb 1999)",
		Think:      Exponential{30},
		Embedded:   Cut{1.1, 2, 55},
		Main:       Moments(10710, 25032, 100, 2e6),
		Object:     Moments(7758, 126168, 50, 2e6),
		Request:    Constant(328),
		Parse:      Exponential{.13},
		Persistent: .5, Persisting: 2, Parallel: 4,
	}
}

// SURGE has the distributions of P. Barford and M. Crovella, "Generating Representative
// Web Workloads for Network and Server Performance Evaluation", SIGMETRICS 1998: Pareto
// sizes of what is transferred, numbers of references and inactive OFF times, Weibull
// active OFF times. The sizes are cut at the 2 MB of the other model, inactive times at
// 10 minutes and active ones at 1. Requests and connections are those of the other
// model.
func SURGE() Model {
	m := CDMA2000()
	m.Name, m.Source = "surge", "Barford and Crovella 1998"
	m.Think = Pareto{1.5, 1, 600}
	m.Embedded = Cut{2.43, 1, 100}
	m.Main = Pareto{1, 1000, 2e6}
	m.Object = m.Main
	m.Parse = Weibull{.382, 1.46, 60}
	return m
}

// Models returns the models.
func Models() []Model { return []Model{CDMA2000(), SURGE(), PackMime()} }

// FindModel returns the model of a name.
func FindModel(name string) (Model, error) {
	var names []string
	for _, m := range Models() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Model{}, fmt.Errorf("model = %q, must be one of %s", name, strings.Join(names, ", "))
}

func (m *Model) validate() error {
	var wrong []string
	for _, d := range []struct {
		name string
		d    Dist
	}{{"Think", m.Think}, {"Embedded", m.Embedded}, {"Main", m.Main}, {"Object", m.Object}, {"Request", m.Request}, {"Parse", m.Parse}} {
		if d.d == nil {
			wrong = append(wrong, d.name+" = nil, must be a distribution")
		}
	}
	if !(m.Persistent >= 0 && m.Persistent <= 1) {
		wrong = append(wrong, fmt.Sprintf("Persistent = %v, must be in [0, 1]", m.Persistent))
	}
	if m.Persisting < 1 || m.Parallel < 1 {
		wrong = append(wrong, fmt.Sprintf("Persisting = %d and Parallel = %d connections, must be > 0", m.Persisting, m.Parallel))
	}
	if wrong != nil {
		return errors.New("web: model: " + strings.Join(wrong, "; "))
	}
	return nil
}

// PackMime is an open workload in the manner of PackMime (J. Cao, W. S. Cleveland,
// Y. Gao, K. Jeffay, F. D. Smith and M. Weigle, "Stochastic Models for Generating
// Synthetic HTTP Source Traffic", INFOCOM 2004) as the simulations in RFC 5562 appendix A
// used it: a mean flow of 3 KB and a heavy tail. The shape and the bounds are ours.
// Arrivals are Poisson, to which PackMime's tend at high rates.
func PackMime() Model {
	m := CDMA2000()
	m.Name, m.Source = "packmime", "after PackMime (Cao et al. 2004)"
	m.Main = Pareto{1.2, 651, 1e6}
	m.Object = m.Main
	return m
}
