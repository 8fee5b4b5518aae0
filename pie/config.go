package pie

import (
	"math/rand/v2"
	"time"

	"github.com/aqmkit/aqmkit/internal/check"
)

// Config is the configuration of a PIE.
type Config struct {
	Target   time.Duration // 1us to 100s; queuing delay to hold, QDELAY_REF [RFC 8033 4.2]; 5ms < Target <= 200ms with DOCSIS
	Update   time.Duration // 1us to 100s; period of the updates of p, T_UPDATE [4.2]
	MaxBurst time.Duration // 0 to 1h; burst allowance, MAX_BURST [4.4]; 0 means none

	// Gains at the configured Target and Update; see the package documentation on
	// how they scale with them.
	Alpha float64 // Hz; 1e-6 to 1e6; weight of the deviation from Target [4.2]
	Beta  float64 // Hz; 1e-6 to 1e6; weight of the delay's change since the last update [4.2]

	MaxECN     float64 // 0 to 1; p from which ECN-capable packets are dropped too, mark_ecnth [5.1]; 0 means no limit; 0 with DOCSIS, which does not mark
	MeanPacket uint32  // bytes; 1 to 2^20; a backlog of twice as much is not signalled, MEAN_PKTSIZE [4.1]
	LimitBytes int64   // bytes; >= 0; size of the buffer, TAIL_DROP, of which a third activates the algorithm [5.3]; 0 means always active

	DepartureRate bool // measure the delay by the departure rate instead of by timestamps [5.2]

	// DOCSIS selects RFC 8034. The rates are those of the token buckets that shape
	// the queue, for the estimate of the delay: set all three, or leave all three 0
	// and the delay is measured by timestamps.
	DOCSIS        bool
	PeakRate      uint64 // bit/s; >= SustainedRate; PEAK_RATE [RFC 8034 A.1]
	SustainedRate uint64 // bit/s; > 0; Maximum Sustained Traffic Rate, MSR [A.1]
	TrafficBurst  uint32 // bytes; > 0; depth of the bucket filled at SustainedRate, which must not take more than 2000 Updates

	Rand rand.Source // random numbers; nil means a PCG seeded from the system
}

// DefaultConfig returns the defaults of RFC 8033.
func DefaultConfig() Config {
	return Config{
		Target:     15 * time.Millisecond,
		Update:     15 * time.Millisecond,
		MaxBurst:   150 * time.Millisecond,
		Alpha:      0.125,
		Beta:       1.25,
		MaxECN:     0.1,
		MeanPacket: 1024,
	}
}

// DataCenter returns the defaults of RFC 8033 section 8 for data centers: a Target of
// 15us and a MaxBurst of 150us, with the Update and the gains that go with them.
func DataCenter() Config {
	return DefaultConfig().faster(1000)
}

// DOCSIS returns the defaults of RFC 8034, which leave the rates and LimitBytes to
// the service flow.
func DOCSIS() Config {
	return Config{
		Target:     10 * time.Millisecond,
		Update:     16 * time.Millisecond,
		MaxBurst:   142 * time.Millisecond,
		Alpha:      0.25,
		Beta:       2.5,
		MeanPacket: 1024,
		DOCSIS:     true,
	}
}

// designPackets is the backlog at Target, at the least: twice what is never
// signalled [RFC 8033 4.1].
const designPackets = 4

// Design returns a Config for a link of rate bit/s under flows whose base round-trip
// time is rtt, with packets of meanPacket bytes. RFC 8033's defaults are made for the
// Internet, and are returned for an rtt of 15 ms, their Target, or more. For a shorter
// one, all times are divided and the gains multiplied by 15 ms/rtt [RFC 8033 4.2, 8],
// so that Target is rtt, down to the time that four packets take on the link.
func Design(rate uint64, rtt time.Duration, meanPacket uint32) (Config, error) {
	l := check.For("pie")
	l.Require(rate > 0, "rate", rate, "bit/s", "> 0")
	l.Require(rtt > 0, "rtt", rtt, "", "> 0s")
	l.Require(meanPacket >= 1 && meanPacket <= maxMeanPacket, "meanPacket", meanPacket, "bytes", "in [1, %d]", maxMeanPacket)
	if err := l.Err(); err != nil {
		return Config{}, err
	}
	c := DefaultConfig()
	packets := designPackets * 8 * float64(meanPacket) / float64(rate) // seconds
	target := max(rtt.Seconds(), packets, minTime.Seconds())
	c = c.faster(max(1, c.Target.Seconds()/target))
	c.MeanPacket = meanPacket
	return c, nil
}

// faster returns c on a clock k times as fast.
func (c Config) faster(k float64) Config {
	c.Target = time.Duration(float64(c.Target)/k + 0.5)
	c.Update = time.Duration(float64(c.Update)/k + 0.5)
	c.MaxBurst = time.Duration(float64(c.MaxBurst)/k + 0.5)
	c.Alpha *= k
	c.Beta *= k
	return c
}

// Bounds of a Config. Those of times and gains bound the work after a long silence:
// with the smallest, p takes less than 2600 updates to decay.
const (
	minTime       = time.Microsecond
	maxTime       = 100 * time.Second
	maxMaxBurst   = time.Hour
	minGain       = 1e-6
	maxGain       = 1e6
	maxMeanPacket = 1 << 20
	maxFill       = 2000 // Updates that the token bucket takes to fill
)

// Validate returns all that is wrong with c, or nil.
func (c Config) Validate() error {
	l := check.For("pie")
	l.Require(c.Target >= minTime && c.Target <= maxTime, "Target", c.Target, "", "in [%v, %v]", minTime, maxTime)
	l.Require(c.Update >= minTime && c.Update <= maxTime, "Update", c.Update, "", "in [%v, %v]", minTime, maxTime)
	l.Require(c.MaxBurst >= 0 && c.MaxBurst <= maxMaxBurst, "MaxBurst", c.MaxBurst, "", "in [0s, %v]", maxMaxBurst)
	l.Require(c.Alpha >= minGain && c.Alpha <= maxGain, "Alpha", c.Alpha, "Hz", "in [%g, %g]", minGain, maxGain)
	l.Require(c.Beta >= minGain && c.Beta <= maxGain, "Beta", c.Beta, "Hz", "in [%g, %g]", minGain, maxGain)
	l.Require(c.MaxECN >= 0 && c.MaxECN <= 1, "MaxECN", c.MaxECN, "", "in [0, 1], where 0 means no limit")
	l.Require(c.MeanPacket >= 1 && c.MeanPacket <= maxMeanPacket, "MeanPacket", c.MeanPacket, "bytes", "in [1, %d]", maxMeanPacket)
	l.Require(c.LimitBytes >= 0, "LimitBytes", c.LimitBytes, "bytes", ">= 0, where 0 means always active")
	if !c.DOCSIS {
		l.Require(c.PeakRate == 0, "PeakRate", c.PeakRate, "bit/s", "0 without DOCSIS")
		l.Require(c.SustainedRate == 0, "SustainedRate", c.SustainedRate, "bit/s", "0 without DOCSIS")
		l.Require(c.TrafficBurst == 0, "TrafficBurst", c.TrafficBurst, "bytes", "0 without DOCSIS")
		return l.Err()
	}
	l.Require(c.Target > latencyLow && c.Target <= latencyHigh, "Target", c.Target, "", "in (%v, %v] with DOCSIS", latencyLow, latencyHigh)
	l.Require(c.MaxECN == 0, "MaxECN", c.MaxECN, "", "0 with DOCSIS, which does not mark")
	l.Require(!c.DepartureRate, "DepartureRate", c.DepartureRate, "", "false with DOCSIS")
	if c.PeakRate == 0 && c.SustainedRate == 0 && c.TrafficBurst == 0 {
		return l.Err()
	}
	l.Require(c.SustainedRate > 0, "SustainedRate", c.SustainedRate, "bit/s", "> 0 where PeakRate or TrafficBurst is set")
	l.Require(c.PeakRate >= c.SustainedRate && c.PeakRate > 0, "PeakRate", c.PeakRate, "bit/s", ">= SustainedRate = %d bit/s", c.SustainedRate)
	l.Require(c.TrafficBurst > 0, "TrafficBurst", c.TrafficBurst, "bytes", "> 0 where SustainedRate is set")
	if c.SustainedRate > 0 {
		fill := 8 * float64(c.TrafficBurst) / float64(c.SustainedRate) // seconds
		l.Require(fill <= maxFill*c.Update.Seconds(), "TrafficBurst", c.TrafficBurst, "bytes",
			"at most what SustainedRate = %d bit/s fills in %d Updates", c.SustainedRate, maxFill)
	}
	return l.Err()
}
