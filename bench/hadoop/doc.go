// Package hadoop reproduces R. Fischer e Silva and P. M. Carpenter, "TCP Proactive
// Congestion Control for East-West Traffic: the Marking Threshold", from what its
// abstract states: the shuffle of a MapReduce job on racks of nodes, beside a service
// that wants short response times, under algorithms that mark, policies that protect
// what cannot be marked, and the plain marking threshold.
//
// # Measures
//
// Of each cell, over all ports of all switches from the begin of the first map to the
// end of the last fetch: the job's run time; the throughput per node, which is the mean
// over the nodes of what a node fetched over the network in the time from its first
// fetch to its last; the end-to-end latency of data packets, from the sender's TCP to
// the receiver's host, each packet counted; the service's response times from the SYN
// to the last byte; what each class of packets lost, to the algorithm and to full
// buffers, as a share of the class's arrivals at ports; marks; timeouts by handshakes
// and by established connections ("stalls").
//
// # What is judged, and from what
//
// All that is not in a source is in assumed.go with the word "assumed", the margins of
// the claims too, and was fixed before a claim was looked at.
package hadoop
