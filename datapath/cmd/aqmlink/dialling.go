package main

import "github.com/HdrHistogram/hdrhistogram-go"

// dialling is how long short connections took to be set up: from the SYN to the
// SYN-ACK, as the caller sees it.
type dialling struct {
	took   *hdrhistogram.Histogram // us
	failed uint64                  // not set up within the limit
	slow   uint64                  // for longer than the kernel waits for a SYN-ACK: a SYN was sent again
}
