package dumbbell

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/ecnpolicy"
	"github.com/aqmkit/aqmkit/internal/catalog"
	"github.com/aqmkit/aqmkit/internal/tcp"
)

// Settings is where an algorithm's parameters come from.
type Settings string

// The settings.
const (
	Design  Settings = "design"  // the package's Design, for this rate, mean RTT and number of flows
	Default Settings = "default" // the package's DefaultConfig
	Paper   Settings = "paper"   // those of the paper or RFC
	NS2     Settings = "ns2"     // the scenario of ns2.tcl, and its senders
	NS3     Settings = "ns3"     // the same with ns-3's algorithms, and senders by the RFCs
)

// Scenario is what is simulated.
type Scenario struct {
	Algorithm string           `json:"algorithm"`
	Settings  Settings         `json:"settings"`
	Policy    ecnpolicy.Config `json:"policy"` // around the algorithm; the zero Config is none

	Rate   uint64        `json:"rate_bit_per_s"` // of the bottleneck
	RTTMin time.Duration `json:"rtt_min_ns"`     // of the empty network; > 0
	RTTMax time.Duration `json:"rtt_max_ns"`     // >= RTTMin
	Buffer int           `json:"buffer_packets"` // of the bottleneck; > 0

	Flows   int           `json:"flows"`         // > 0; long-lived
	Reverse int           `json:"reverse_flows"` // more of them, in the other direction
	Kinds   Kinds         `json:"kinds"`         // at least one; flow i is of kind i modulo their number
	ECN     bool          `json:"ecn"`
	MinRTO  time.Duration `json:"min_rto_ns"` // > 0

	Seconds float64 `json:"seconds"`        // in all
	Warmup  float64 `json:"warmup_seconds"` // of which at the beginning are left out; in [0, Seconds)
}

// Kinds are the flows' congestion controls in turn.
type Kinds []tcp.Variant

// MarshalJSON returns their names.
func (k Kinds) MarshalJSON() ([]byte, error) { return json.Marshal(k.names()) }

func (k Kinds) names() (names []string) {
	for _, v := range k {
		names = append(names, v.String())
	}
	return names
}

// BDP returns the packets of 1500 bytes that fill a link of rate bit/s for one
// round-trip time; 20 at least, as in ns2.tcl.
func BDP(rate uint64, rtt time.Duration) int {
	return int(max(20, float64(rate)*rtt.Seconds()/8/catalog.MeanPacket))
}

// LikeNS2 returns the scenario of ns2.tcl: 50 ECN flows with round-trip times of 40 to
// 100 ms and a buffer of two BDP; the first quarter is left out.
func LikeNS2(algorithm string, rate uint64, seconds float64) Scenario {
	return Scenario{
		Algorithm: algorithm, Settings: NS2, Rate: rate,
		RTTMin: 40 * time.Millisecond, RTTMax: 100 * time.Millisecond, Buffer: 2 * BDP(rate, 100*time.Millisecond),
		Flows: 50, Kinds: []tcp.Variant{tcp.NewReno}, ECN: true, MinRTO: 200 * time.Millisecond,
		Seconds: seconds, Warmup: seconds / 4,
	}
}

// Bounds of what can be simulated.
const (
	MinRate    = 10_000            // bit/s
	MaxRate    = 1_000_000_000_000 // bit/s
	MaxFlows   = 1_000_000
	MaxBuffer  = 100_000_000 // packets
	MaxSeconds = 7200        // the clock's end with a million of flows
)

// Validate returns all that is impossible in s, in one line, or nil.
func (s Scenario) Validate() error {
	var wrong []string
	require := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	require(s.Rate >= MinRate && s.Rate <= MaxRate, "rate = %d bit/s, must be in [10k, 1000G]", s.Rate)
	require(s.RTTMin >= time.Microsecond && s.RTTMin <= s.RTTMax && s.RTTMax <= time.Minute, "rtt = %v to %v, must rise and be in [1us, 1m]", s.RTTMin, s.RTTMax)
	require(s.Buffer >= 1 && s.Buffer <= MaxBuffer, "buffer = %d packets, must be in [1, %d]", s.Buffer, MaxBuffer)
	require(s.Flows >= 1 && s.Flows <= MaxFlows, "flows = %d, must be in [1, %d]", s.Flows, MaxFlows)
	require(s.Reverse >= 0 && s.Reverse <= MaxFlows, "reverse = %d flows, must be in [0, %d]", s.Reverse, MaxFlows)
	require(len(s.Kinds) > 0, "kind = none, must be one at least")
	for _, k := range s.Kinds {
		require(k < tcp.NumVariants, "kind = %v, must be newreno, cubic or dctcp", k)
		require(k != tcp.DCTCP || s.ECN, "kind = dctcp needs ECN")
	}
	require(s.MinRTO > 0 && s.MinRTO <= time.Minute, "min-rto = %v, must be in (0, 1m]", s.MinRTO)
	require(s.Seconds > 0 && s.Seconds <= MaxSeconds, "seconds = %v, must be in (0, %d]", s.Seconds, MaxSeconds)
	require(s.Warmup >= 0 && s.Warmup < s.Seconds, "warmup = %v s, must be in [0, seconds = %v)", s.Warmup, s.Seconds)
	if s.Settings != NS2 && s.Settings != NS3 {
		_, err := catalog.Find(s.Algorithm)
		require(err == nil, "%v", err)
	}
	if len(wrong) == 0 {
		if _, err := s.instance(1); err != nil {
			require(false, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// instance returns the algorithm under its policy, with random numbers of its own.
func (s Scenario) instance(seed uint64) (aqm.AQM, error) {
	a, err := s.algorithm(rand.NewPCG(seed, 1))
	if err != nil {
		return nil, err
	}
	if s.Policy == (ecnpolicy.Config{}) {
		return a, nil
	}
	p, err := ecnpolicy.New(a, s.Policy)
	if err != nil {
		return nil, err
	}
	if inner, ok := a.(prober); ok {
		return policed{p, inner}, nil
	}
	return p, nil
}

func (s Scenario) algorithm(src rand.Source) (aqm.AQM, error) {
	switch s.Settings {
	case NS2:
		return likeNS2(s, src)
	case NS3:
		return likeNS3(s, src)
	}
	e, err := catalog.Find(s.Algorithm)
	if err != nil {
		return nil, err
	}
	var a aqm.AQM
	switch s.Settings {
	case Design:
		a, err = e.New(s.Rate, (s.RTTMin+s.RTTMax)/2, s.Flows, src)
		if err != nil {
			err = fmt.Errorf("%s cannot be designed for this link: %w", s.Algorithm, err)
		}
	case Default:
		a, err = e.Default(src)
	case Paper:
		a, err = e.Paper(src)
	default:
		err = fmt.Errorf("settings = %q, must be design, default or paper", s.Settings)
	}
	return a, err
}

type prober interface{ Probability() float64 }

// policed has the policy decide, and tells the algorithm's probability.
type policed struct {
	aqm.AQM
	prober
}

// config returns the senders of one kind.
func (s Scenario) config(k tcp.Variant) tcp.Config {
	c := tcp.DefaultConfig()
	if s.Settings == NS2 {
		c = tcp.NS2Config()
	}
	c.Variant, c.ECN, c.MinRTO = k, s.ECN, s.MinRTO
	return c
}
