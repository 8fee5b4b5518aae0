package script

import (
	"fmt"
	"math"

	"github.com/aqmkit/aqmkit/aqm"
)

// Machine is a queue modelled with a slice, under one algorithm or several that
// are asked the same questions. The first one's verdicts are carried out.
type Machine struct {
	Now          aqm.Time // where the script's clock starts, and then stands
	LimitPackets int      // packets; 0 means 1000
	LimitBytes   int64    // bytes; 0 means no limit

	// Reconfigure, if not nil, is called for each such operation with its N. An error
	// from it stops the run.
	Reconfigure func(n int) error

	// Judged, if not nil, is called after every question with what was asked and
	// what each algorithm said. An error from it stops the run.
	Judged func(Judgement) error

	queue   []aqm.Packet
	bytes   int64
	largest aqm.Time
	started bool
}

// Judgement is one question and its answers.
type Judgement struct {
	Step      int // index of the operation in the script
	AtDequeue bool
	Now       aqm.Time
	Packet    aqm.Packet
	Occupancy aqm.Occupancy
	Verdicts  []aqm.Verdict // valid until the next question
}

// String returns the question as a line of text.
func (j Judgement) String() string {
	end := "Enqueue"
	if j.AtDequeue {
		end = "Dequeue"
	}
	return fmt.Sprintf("step %d: %s(%d, %+v, %+v)", j.Step, end, j.Now, j.Packet, j.Occupancy)
}

// Run runs s and returns the first error of Judged, with the question it is about.
// The machine keeps its queue and clock, so that runs can follow each other.
func (m *Machine) Run(s Script, algorithms ...aqm.AQM) error {
	if !m.started {
		m.started, m.largest = true, math.MinInt64
	}
	if m.LimitPackets == 0 {
		m.LimitPackets = 1000
	}
	verdicts := make([]aqm.Verdict, len(algorithms))
	judge := func(step int, atDequeue bool, p aqm.Packet, q aqm.Occupancy) (aqm.Verdict, error) {
		for i, a := range algorithms {
			if atDequeue {
				verdicts[i] = a.Dequeue(m.Now, p, q)
			} else {
				verdicts[i] = a.Enqueue(m.Now, p, q)
			}
		}
		if m.Judged != nil {
			j := Judgement{step, atDequeue, m.Now, p, q, verdicts}
			if err := m.Judged(j); err != nil {
				return aqm.Verdict{}, fmt.Errorf("%v: %w", j, err)
			}
		}
		return verdicts[0], nil
	}
	for step, op := range s {
		m.Now = m.Now.Add(op.Wait)
		m.largest = max(m.largest, m.Now)
		switch op.Kind {
		case Arrive:
			p := aqm.Packet{EnqueuedAt: m.largest, Size: op.Size, ECN: op.ECN, Class: op.Class}
			full := len(m.queue) >= m.LimitPackets || m.LimitBytes > 0 && m.bytes+int64(p.Size) > m.LimitBytes
			v, err := judge(step, false, p, aqm.Occupancy{Packets: len(m.queue), Bytes: m.bytes, Full: full})
			if err != nil {
				return err
			}
			if full || v.Action == aqm.Drop {
				continue
			}
			if v.Action == aqm.Mark {
				p.ECN = aqm.CE
			}
			m.queue = append(m.queue, p)
			m.bytes += int64(p.Size)
		case Depart:
			for len(m.queue) > 0 {
				p := m.queue[0]
				m.queue = m.queue[1:]
				m.bytes -= int64(p.Size)
				v, err := judge(step, true, p, aqm.Occupancy{Packets: len(m.queue), Bytes: m.bytes})
				if err != nil {
					return err
				}
				if v.Action != aqm.Drop {
					break
				}
			}
		case Flush:
			m.queue, m.bytes = nil, 0
		case Reconfigure:
			if m.Reconfigure != nil {
				if err := m.Reconfigure(op.N); err != nil {
					return fmt.Errorf("step %d: %w", step, err)
				}
			}
		case LimitPackets:
			m.LimitPackets = max(1, op.N)
		case LimitBytes:
			m.LimitBytes = int64(op.N)
		}
	}
	return nil
}

// Agree returns a Judged that fails where two algorithms' verdicts differ.
// also, if not nil, is asked after every question whether they differ otherwise.
func Agree(also func() error) func(Judgement) error {
	return func(j Judgement) error {
		for _, v := range j.Verdicts[1:] {
			if v != j.Verdicts[0] {
				return fmt.Errorf("verdicts differ: %v", j.Verdicts)
			}
		}
		if also != nil {
			return also()
		}
		return nil
	}
}
