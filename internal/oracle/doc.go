// Package oracle has, for every algorithm, a naive transcription of its paper or
// RFC: floating point, plain loops, no shortcuts. Tests hold the fast
// implementations against it, so it shares no code with them.
package oracle
