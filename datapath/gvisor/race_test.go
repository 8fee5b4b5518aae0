//go:build race

package gvisor

// raceEnabled says that netstack's TCP is more than ten times as slow as usual.
const raceEnabled = true
