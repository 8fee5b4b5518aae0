// Package study runs a set of independent simulations, spread over workers or
// machines, and judges claims by what came of them.
//
// A [Study] plans cells. A cell is one simulation: a scheme at a point, with a seed.
// Cells with the same point and seed see the same users, sizes and arrivals (common
// random numbers), so that schemes are compared seed by seed. A shard is every n-th
// cell; the outputs of all shards merge to the bytes of a run in one piece.
//
// # Judging
//
// A [Comparison] is the mean over seeds of a paired difference, or ratio, and Student's
// t interval around it. A claim rests on tests of comparisons against limits, such as
// "smaller" or "by at least 5 points"; the two-sided p-values of all tests of a claim
// are corrected together [Holm 1979], so that the chance that any of its decisions is
// wrong is 5 % at most. What a test does not decide is [Undecided], and verdicts are
// put together in Kleene's logic: a claim holds or fails only if it does so whatever
// the undecided tests would have said.
package study
