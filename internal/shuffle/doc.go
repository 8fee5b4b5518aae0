// Package shuffle is the traffic of a MapReduce cluster in simulation: the shuffle of
// one job, a service of small requests beside it, and what else may cross the same
// ports.
//
// # Model
//
// Racks of nodes are joined by a core; every node is a mapper and a reducer. A node
// runs its maps in waves, as many at a time as it has slots. What a map leaves, each
// reducer must fetch its part of: a reducer has a bounded number of fetchers, and a
// fetcher takes all that waits for it at one node, over one connection, as Hadoop's
// does: a TCP connection of its own, a request, the answer, and the close. While it is
// busy at a node, no other fetcher of that reducer goes there. Parts on the reducer's
// own node cost nothing. The job is over with its last fetch.
//
// Every port of a switch is a queue under an algorithm. A host's own link is lossless,
// and senders keep it short (tcp.Config.SmallQueues), so that a port carries data to
// a node's reducers and, between it, the ACKs of what the node's maps send.
//
// The service's requests come at random instants, each over a connection of its own,
// and their response time counts from the SYN. Others are not ECN-capable: the same
// requests over plain TCP, and a stream of datagrams.
//
// # Common random numbers
//
// A seed fixes when maps end, how large their parts are, in which order a reducer goes
// through the nodes, and when requests arrive where: functions of the seed, or streams
// that are drawn from in a fixed order. None of it depends on what the network does, so
// that schemes meet the same job.
//
// # Not modelled
//
// Disks, merging and what it holds up, task start-up, heartbeats (a map's end is known
// at once), replication of the output, failures and speculation.
package shuffle
