package dumbbell

// Recorded is what another simulator returned for the scenario of [LikeNS2].
type Recorded struct {
	Simulator   string  `json:"simulator"`
	Algorithm   string  `json:"algorithm"`
	Rate        uint64  `json:"rate_bit_per_s"`
	Seconds     float64 `json:"seconds"`
	Seeds       int     `json:"seeds"`
	Utilisation float64 `json:"utilisation"`
	Queue       float64 `json:"mean_queue_packets"`
	QueueSD     float64 `json:"mean_queue_packets_sd"` // over the seeds; 0 with one
}

// recorded was measured once, and is not computed here.
//
//   - ns-2: ns2.tcl under ns-2 2.35 as packaged by Debian 12; the means of the seeds.
//   - ns-3: the same dumbbell in ns-3.37 as packaged by Debian 12, with LinuxReno
//     senders, UseEcn, and UseHardDrop off for RED; DCTCP with RED as a step at 0.17
//     BDP.
var recorded = []Recorded{
	{"ns-2", "droptail", 10e6, 200, 5, 1, 151.2, .3},
	{"ns-2", "red", 10e6, 200, 5, .997, 26.7, .1},
	{"ns-2", "ared", 10e6, 200, 5, .991, 10.4, .1},
	{"ns-2", "pi", 10e6, 200, 5, 1, 92.9, .3},
	{"ns-2", "pi-ref", 10e6, 200, 5, 1, 78.9, .9},
	{"ns-2", "rem", 10e6, 200, 5, .999, 56, .7},
	{"ns-2", "droptail", 100e6, 200, 5, 1, 1457, 7},
	{"ns-2", "red", 100e6, 200, 5, .999, 83.7, .3},
	{"ns-2", "ared", 100e6, 200, 5, 1, 81.9, .4},
	{"ns-2", "pi", 100e6, 200, 5, .995, 50, .3},
	{"ns-2", "pi-ref", 100e6, 200, 5, 1, 165.9, .2},
	{"ns-2", "rem", 100e6, 200, 5, .964, 25.9, .1},
	{"ns-2", "droptail", 1e9, 300, 3, 1, 14023, 222},
	{"ns-2", "red", 1e9, 300, 3, 1, 654, 7},
	{"ns-2", "ared", 1e9, 300, 1, 1, 817, 0},
	{"ns-2", "pi", 1e9, 300, 1, .802, 6, 0},
	{"ns-2", "rem", 1e9, 300, 1, .956, 35.8, 0},

	{"ns-3", "droptail", 100e6, 100, 1, .998, 1409, 0},
	{"ns-3", "red", 100e6, 100, 1, .980, 94.1, 0},
	{"ns-3", "ared", 100e6, 100, 1, .980, 82, 0},
	{"ns-3", "pie", 100e6, 100, 1, .992, 136.6, 0},
	{"ns-3", "codel", 100e6, 100, 1, .998, 120.2, 0},
	{"ns-3", "dctcp", 100e6, 100, 1, .997, 113.6, 0},
}
