package web

import (
	"fmt"
	"strings"

	"github.com/aqmkit/aqmkit/bench/study"
)

// judge makes a claim in one reading, with NotECT packets dropped or protected.
type judge struct {
	*study.Family
	d       *study.Data
	reading string
	protect bool
}

// scheme returns a law with or without ECN as this judge has it, with the setting that
// has the smaller truncated mean over the points.
func (j *judge) scheme(points []string, s Scheme) Scheme {
	s.Protect = j.protect && s.Law != dropTail && s.Law != uncongested
	if s.Law == uncongested {
		return s
	}
	return better(j.d, points, s, j.reading)
}

// better returns the scheme with the setting that has the smaller truncated mean.
func better(d *study.Data, points []string, s Scheme, reading string) Scheme {
	best, least := s, 0.
	for i, q := range settings {
		s.Setting = q
		sum := 0.
		for _, p := range points {
			sum += d.Mean(p, s.String(), "mean2s_ms_"+reading)
		}
		if i == 0 || sum < least {
			best, least = s, sum
		}
	}
	return best
}

// measure compares two schemes at a point.
func (j *judge) measure(name, point string, a, b Scheme) *study.Comparison {
	return j.Compare(name+"_"+j.reading, point, a.String(), point, b.String())
}

// smaller says whether a difference is below 0. It fails too where an improvement by
// more than the margin is excluded.
func smaller(c *study.Comparison, margin float64) study.Verdict {
	if v := c.Below(0); v != study.Undecided {
		return v
	}
	if c.Above(-margin) == study.Holds {
		return study.Fails
	}
	return study.Undecided
}

// notLarger says whether a difference is not above 0, or above it by less than the
// margin.
func notLarger(c *study.Comparison, margin float64) study.Verdict {
	sign := c.Below(0)
	if sign == study.Holds {
		return study.Holds
	}
	if c.Below(margin) == study.Holds {
		return study.Holds
	}
	return sign
}

// isBetter says whether a is better than b: its truncated mean is smaller and its share
// above 2 s is not larger, or the other way round.
func isBetter(mean, over *study.Comparison) study.Verdict {
	m, o := meanMargin*mean.MeanB, overMargin
	return study.Or(
		study.And(smaller(mean, m), notLarger(over, o)),
		study.And(smaller(over, o), notLarger(mean, m)))
}

// better makes a part that says a is better than b.
func (j *judge) better(point string, a, b Scheme) study.Part {
	mean, over := j.measure("mean2s_ms", point, a, b), j.measure("over_2s", point, a, b)
	return study.Part{
		Text:        fmt.Sprintf("%s: %v is better than %v", point, a, b),
		Verdict:     isBetter(mean, over),
		Numbers:     fmt.Sprintf("mean to 2 s %s; above 2 s %s", inMillis(mean), inPoints(over)),
		Comparisons: []*study.Comparison{mean, over},
	}
}

// clearly makes a part that says a is clearly better than b.
func (j *judge) clearly(point string, a, b Scheme) study.Part {
	half, one := j.measure("share_500ms", point, a, b), j.measure("share_1s", point, a, b)
	return study.Part{
		Text:        fmt.Sprintf("%s: %v is clearly better than %v", point, a, b),
		Verdict:     study.Or(half.Above(clearMargin), one.Above(clearMargin)),
		Numbers:     fmt.Sprintf("within 500 ms %s; within 1 s %s", inPoints(half), inPoints(one)),
		Comparisons: []*study.Comparison{half, one},
	}
}

// close makes a part that says a is close to b.
func (j *judge) close(point string, a, b Scheme) study.Part {
	half, one := j.measure("share_500ms", point, a, b), j.measure("share_1s", point, a, b)
	return study.Part{
		Text:        fmt.Sprintf("%s: %v is close to %v", point, a, b),
		Verdict:     study.And(half.Within(-closeMargin, closeMargin), one.Within(-closeMargin, closeMargin)),
		Numbers:     fmt.Sprintf("within 500 ms %s; within 1 s %s", inPoints(half), inPoints(one)),
		Comparisons: []*study.Comparison{half, one},
	}
}

// larger makes a part that says A of the comparison is larger than B, by no less than
// the margin where that is all the runs say.
func larger(text string, c *study.Comparison, margin float64) study.Part {
	v := c.Above(0)
	if v == study.Undecided && c.Below(margin) == study.Holds {
		v = study.Fails
	}
	return study.Part{Text: text, Verdict: v, Numbers: inMillis(c), Comparisons: []*study.Comparison{c}}
}

func aside(p study.Part) study.Part {
	p.Aside = true
	return p
}

func inMillis(c *study.Comparison) string {
	return fmt.Sprintf("%.1f and %.1f ms: %+.1f [%+.1f, %+.1f]", c.MeanA, c.MeanB, c.Diff, c.Lo, c.Hi)
}

func inPoints(c *study.Comparison) string {
	return fmt.Sprintf("%.2f and %.2f %%: %+.2f [%+.2f, %+.2f]", 100*c.MeanA, 100*c.MeanB, 100*c.Diff, 100*c.Lo, 100*c.Hi)
}

// conclude makes the claim of its parts, and the line of numbers of those that decide.
func conclude(id, text string, parts []study.Part) study.Claim {
	c := study.Claim{ID: id, Text: text, Parts: parts, Verdict: study.Rest(parts)}
	count := map[study.Verdict]int{}
	var line []string
	for _, p := range parts {
		if p.Aside {
			continue
		}
		count[p.Verdict]++
		if p.Verdict == c.Verdict && len(line) < 2 {
			line = append(line, fmt.Sprintf("%s (%s)", p.Text, p.Numbers))
		}
	}
	of := count[study.Holds] + count[study.Fails] + count[study.Undecided]
	head := fmt.Sprintf("%d of %d parts hold, %d fail, %d undecided", count[study.Holds], of, count[study.Fails], count[study.Undecided])
	if c.Verdict == study.Fails {
		head += "; it fails by"
	} else if c.Verdict == study.Undecided {
		head += "; undecided by"
	}
	c.Numbers = head + ": " + strings.Join(line, "; ")
	return c
}
