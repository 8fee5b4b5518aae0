// Package replay runs recorded arrivals, of a queue or of a packet capture, through
// algorithms in front of a link, side by side.
//
// The arrivals are what they are: senders that were recorded do not answer to other
// marks and drops than they got. What is compared is what each algorithm makes of the
// same traffic, and not what the traffic would have become; for that there are package
// dumbbell's simulations.
package replay
