// Package bench has the benchmarks that compare the algorithms with each other and
// with what a datapath would use otherwise. go test -bench . runs them; the command
// aqmbench prints them as one table.
package bench
