package main

import (
	"github.com/aqmkit/aqmkit/bench/study"
	"github.com/aqmkit/aqmkit/bench/web"
)

func init() { studies["web"] = web.Study }

type webCommand struct {
	studyFlags
	Calibrate bool `help:"Measure again what a user puts on the uncongested link, beside the values in use, and do nothing else."`
}

// Help is called by kong.
func (*webCommand) Help() string {
	return `Reproduces what Le, Aikat, Jeffay and Smith (IEEE/ACM ToN 2007) say of response
times on the web: users browse over a link of 100 Mb/s under drop-tail, PI, REM and
Adaptive RED, with and without ECN, at loads of 80 to 105 %. A cell is named
point/scheme/seed, such as load98/pi24+ecn/1.`
}

// Run is called by kong.
func (c *webCommand) Run(out *output) error {
	if c.Calibrate {
		t, err := web.Calibrate(workers(c.Workers), study.Progress(out.progress()))
		if err != nil {
			return err
		}
		return t.WriteText(out.results)
	}
	return c.run(out, web.Study())
}
