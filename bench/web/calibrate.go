package web

import (
	"fmt"
	"math"

	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/internal/sim"
	"github.com/aqmkit/aqmkit/internal/web"
)

// calibrated is what is put on the uncongested link: by users, as a factor to what their
// random numbers alone let one reckon; by a connection of the open form, in bits.
type calibrated struct {
	Model      string  `json:"model"`
	RTT        string  `json:"rtt"`
	Open       bool    `json:"open,omitempty"`
	Factor     float64 `json:"factor"`      // or bits
	MeanPacket float64 `json:"mean_packet"` // bytes
}

// calibration was measured by Calibrate, which prints it again.
var calibration = []calibrated{
	{Model: "3gpp2", RTT: "base", Factor: .99797, MeanPacket: 1094},
	{Model: "3gpp2", RTT: "narrow", Factor: .99783, MeanPacket: 1094},
	{Model: "3gpp2", RTT: "wide", Factor: .99822, MeanPacket: 1094},
	{Model: "surge", RTT: "base", Factor: .99642, MeanPacket: 986},
	{Model: "3gpp2", RTT: "base", Open: true, Factor: 87946, MeanPacket: 1084},
	{Model: "packmime", RTT: "rfc", Open: true, Factor: 25405, MeanPacket: 599},
}

// Numbers of a calibration: few enough users that not even their bursts wait.
const (
	calibrationUsers = 5000
	calibrationSeeds = 6
	calibrationFirst = 1001
)

func findCalibrated(model, rtt string, open bool) (calibrated, error) {
	for _, c := range calibration {
		if c.Model == model && c.RTT == rtt && c.Open == open {
			return c, nil
		}
	}
	return calibrated{}, fmt.Errorf("no calibration of model %s with RTT %s (open: %t)", model, rtt, open)
}

// populate sets the users, or connections a second, that load the link to the point's
// percentage: users for each seed anew, from the TCP of the scenario whatever is being
// varied, so that a point's users are the same.
func (p *point) populate(c *web.Config) error {
	k, err := findCalibrated(p.Model, p.RTT, p.Open)
	if err != nil {
		return err
	}
	rate := float64(p.Load) / 100 * float64(p.Rate) / k.Factor
	if p.Open {
		c.Arrivals = rate
		return nil
	}
	of := *c
	of.TCP = tcpConfig()
	c.Users, _ = web.Population(&of, rate*p.Measure.Seconds())
	return nil
}

// Calibrate measures the calibration again and returns it beside the values in use.
func Calibrate(workers int, progress study.Progress) (study.Table, error) {
	t := study.Table{
		Title:   "Load on the uncongested link",
		Note:    fmt.Sprintf("%d users, seeds %d to %d; the factor is that of the load measured to the load reckoned from the users' random numbers, or the bits of a connection in the open form; bytes are those of a mean packet.", calibrationUsers, calibrationFirst, calibrationFirst+calibrationSeeds-1),
		Columns: []string{"model", "RTT", "form", "kbit/s each", "factor", "± of one seed", "in use", "bytes", "in use"},
	}
	kinds := []calibrated{
		{Model: "3gpp2", RTT: "base"},
		{Model: "3gpp2", RTT: "narrow"},
		{Model: "3gpp2", RTT: "wide"},
		{Model: "surge", RTT: "base"},
		{Model: "3gpp2", RTT: "base", Open: true},
		{Model: "packmime", RTT: "rfc", Open: true},
	}
	n := len(kinds) * calibrationSeeds
	bits, sizes, each, errs := make([]float64, n), make([]float64, n), make([]float64, n), make([]error, n)
	sim.Each(n, workers, func(i int) {
		k := kinds[i/calibrationSeeds]
		p := basePoint("calibration", 0)
		p.Model, p.RTT, p.Open = k.Model, k.RTT, k.Open
		c, err := p.config(Scheme{Law: uncongested}, uint64(calibrationFirst+i%calibrationSeeds))
		if err != nil {
			errs[i] = err
			return
		}
		if k.Open {
			c.Arrivals = 500
		} else {
			c.Users = calibrationUsers
		}
		r, err := web.Run(*c)
		if err != nil {
			errs[i] = err
			return
		}
		sent := float64(r.Link.SentBytes) * 8
		each[i] = sent / r.Link.Duration().Seconds() / (float64(c.Users) + c.Arrivals)
		if bits[i] = each[i]; !k.Open {
			bits[i] = sent / web.Offered(c, c.Users)
		}
		sizes[i] = float64(r.Link.SentBytes) / float64(r.Link.SentPackets)
		if progress != nil {
			progress(i, n, k.Model)
		}
	})
	for _, err := range errs {
		if err != nil {
			return t, err
		}
	}
	for i, k := range kinds {
		b, sd := moments(bits[i*calibrationSeeds : (i+1)*calibrationSeeds])
		e, _ := moments(each[i*calibrationSeeds : (i+1)*calibrationSeeds])
		s, _ := moments(sizes[i*calibrationSeeds : (i+1)*calibrationSeeds])
		form := "closed"
		if k.Open {
			form = "open"
		}
		now, err := findCalibrated(k.Model, k.RTT, k.Open)
		if err != nil {
			now = calibrated{}
		}
		t.Rows = append(t.Rows, []string{
			k.Model, k.RTT, form, fmt.Sprintf("%.2f", e/1e3), fmt.Sprintf("%.5g", b), fmt.Sprintf("%.4f", sd/b),
			fmt.Sprintf("%.5g", now.Factor), fmt.Sprintf("%.0f", s), fmt.Sprintf("%.0f", now.MeanPacket),
		})
	}
	return t, nil
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(x)-1)))
}
