package study

import "encoding/json"

// Verdict is what the runs say of a statement.
type Verdict int8

// The verdicts.
const (
	Undecided Verdict = iota // the runs do not say
	Holds
	Fails
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Holds:
		return "holds"
	case Fails:
		return "fails"
	}
	return "undecided"
}

// MarshalJSON writes the word.
func (v Verdict) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// And holds if all hold, and fails if one fails.
func And(vs ...Verdict) Verdict {
	all := Holds
	for _, v := range vs {
		if v == Fails {
			return Fails
		}
		if v == Undecided {
			all = Undecided
		}
	}
	return all
}

// Or holds if one holds, and fails if all fail.
func Or(vs ...Verdict) Verdict {
	none := Fails
	for _, v := range vs {
		if v == Holds {
			return Holds
		}
		if v == Undecided {
			none = Undecided
		}
	}
	return none
}

// Not turns a verdict round.
func Not(v Verdict) Verdict {
	switch v {
	case Holds:
		return Fails
	case Fails:
		return Holds
	}
	return Undecided
}

// Claim is a statement, its verdict, and the parts that this rests on.
type Claim struct {
	ID      string  `json:"id"`
	Text    string  `json:"text"`
	Verdict Verdict `json:"verdict"`
	Numbers string  `json:"numbers"` // those that decide, with their intervals, in one line
	Parts   []Part  `json:"parts,omitempty"`
}

// Part is a statement that a claim rests on, or one shown beside it.
type Part struct {
	Text        string        `json:"text"`
	Verdict     Verdict       `json:"verdict"`
	Aside       bool          `json:"aside,omitempty"` // shown, but the claim does not rest on it
	Numbers     string        `json:"numbers,omitempty"`
	Comparisons []*Comparison `json:"comparisons,omitempty"`
}

// Rest returns what the parts that are no asides say together.
func Rest(parts []Part) Verdict {
	v := Holds
	for _, p := range parts {
		if !p.Aside {
			v = And(v, p.Verdict)
		}
	}
	return v
}
