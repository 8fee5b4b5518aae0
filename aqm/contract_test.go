package aqm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWireValues pins the codepoints to RFC 3168 section 5, figure 1.
func TestWireValues(t *testing.T) {
	for tos, want := range map[uint8]ECN{0x00: NotECT, 0xfd: ECT1, 0xb8 | 2: ECT0, 0x03: CE} {
		assert.Equal(t, want, ECNFromTOS(tos))
		assert.Equal(t, uint8(want), tos&3)
	}
	assert.False(t, NotECT.Capable())
	for _, e := range []ECN{ECT1, ECT0, CE} {
		assert.True(t, e.Capable(), e)
	}
}

// TestMarkOrDrop walks the whole table of codepoints and reasons.
func TestMarkOrDrop(t *testing.T) {
	for _, e := range []ECN{NotECT, ECT1, ECT0, CE} {
		assert.Equal(t, Verdict{}, MarkOrDrop(e, None))
		assert.Equal(t, Verdict{Drop, Forced}, MarkOrDrop(e, Forced))
		assert.Equal(t, Verdict{Drop, Overflow}, MarkOrDrop(e, Overflow))
	}
	assert.Equal(t, Verdict{Drop, Early}, MarkOrDrop(NotECT, Early))
	for _, e := range []ECN{ECT1, ECT0, CE} {
		assert.Equal(t, Verdict{Mark, Early}, MarkOrDrop(e, Early))
	}
}

func TestClass(t *testing.T) {
	assert.True(t, Class(0).Has(Other), "the zero Class is Other")
	assert.True(t, ECE.Has(Other), "ECE stands beside a class, it is none")
	assert.False(t, (Data | ECE).Has(Other))
	assert.True(t, (PureACK | ECE).Has(SYN|PureACK))
	assert.True(t, (PureACK | ECE).Has(ECE))
	assert.False(t, PureACK.Has(SYN|SYNACK))
}

// TestStrings sees that every value has a name of its own, and a value without a
// name its number.
func TestStrings(t *testing.T) {
	for want, got := range map[string]string{
		"NotECT": NotECT.String(), "ECT(1)": ECT1.String(), "ECT(0)": ECT0.String(), "CE": CE.String(), "ECN(9)": ECN(9).String(),
		"packets": Packets.String(), "bytes": Bytes.String(), "seconds": Delay.String(), "Unit(3)": Unit(NumUnits).String(),
		"Pass": Verdict{}.String(), "Mark/Early": Verdict{Mark, Early}.String(), "Drop/Forced": Verdict{Drop, Forced}.String(),
		"Drop/Overflow": Verdict{Drop, Overflow}.String(), "Pass/Early": Verdict{Pass, Early}.String(),
		"Action(3)/Reason(4)": Verdict{NumActions, NumReasons}.String(), "Drop/None": Verdict{Drop, None}.String(),
		"Other": Class(0).String(), "PureACK|ECE": (PureACK | ECE).String(), "SYN|SYNACK|FIN|RST|Data|Other": (SYN | SYNACK | FIN | RST | Data | Other).String(),
	} {
		assert.Equal(t, want, got)
	}
}

func TestTailDrop(t *testing.T) {
	for _, e := range []ECN{NotECT, ECT1, ECT0, CE} {
		p := Packet{Size: 1500, ECN: e}
		assert.Equal(t, Verdict{Drop, Overflow}, TailDrop{}.Enqueue(0, p, Occupancy{Full: true}))
		assert.Equal(t, Verdict{}, TailDrop{}.Enqueue(0, p, Occupancy{Packets: 1 << 30, Bytes: 1 << 40}))
		assert.Equal(t, Verdict{}, TailDrop{}.Dequeue(1e18, p, Occupancy{}))
	}
}
