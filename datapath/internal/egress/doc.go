// Package egress is what the adapters to other datapaths have in common: the queues
// in front of a link, each under an AQM of its own, served in turn, at a rate or
// whenever the link asks.
//
// # Source
//
// M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin",
// IEEE/ACM Transactions on Networking 4(3), 1996, in the form of RFC 8290 section
// 4.2, which looks at the deficit before a packet is taken and not at the packet: an
// AQM that may drop the packet at the head leaves nothing to look at.
//
// # Time
//
// The link is served on a virtual clock: the next packet may leave when the one before
// has left at the rate, whenever that is looked at. Whoever is woken late catches up,
// so that the rate is kept, but not by more than [CatchUp]: after a longer stop there
// is no burst of all that the link could have carried meanwhile. The now of an AQM is
// the real one, so that what a packet waited because of a late wake-up counts as
// delay, which it is.
package egress
