// Package dumbbell runs one scenario of simulated TCP over one bottleneck: any
// algorithm, any number and kind of flows, over several seeds at once. Its results
// are a table, CSV, JSON or a plot.
//
// # Scenario
//
// Every flow has a host of its own on either side of the bottleneck, on access links
// ten times as fast. A quarter of the shortest round-trip time is that of the
// bottleneck in either direction, an eighth that of the right side; the left side has
// the rest, so that the flows' round-trip times are spread evenly over the range. Flow
// i of n starts in the i-th n-th of the first second, at an instant drawn from the
// seed. Reverse flows send in the other direction, so that their acknowledgements pass
// the queue under test.
//
// With [NS2] for settings the scenario is that of the ns-2 script ns2.tcl beside this
// file, whose flows start at i/n seconds, with senders that do what ns-2's do.
//
// # Results
//
// All figures but [Figures.Packets] are of the time after the warm-up. Utilisation,
// the mean queue and the delays are exact: they count every packet. The quantiles of
// the queue's length are those of equally spaced samples. All but the wall time is a
// function of scenario and seed.
package dumbbell
