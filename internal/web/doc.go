// Package web simulates people who browse, over one congested link: pages of objects
// with think times between them, fetched over TCP connections that each have a
// round-trip time of their own, and the response time of each object.
//
// # Model
//
// Servers stand behind one side of a bottleneck and clients behind the other. What the
// servers send - responses, SYN-ACKs, ACKs of requests - goes through the bottleneck,
// and what the clients send through a link of the same rate that has room for all of
// it. All servers share a faster link up to the bottleneck. The propagation delay is
// the connection's own, in whole milliseconds.
//
// In the closed form (Config.Users) each user waits, fetches a page, and waits again:
// users who wait for a slow page load the link less. A page is a main object, a time in
// which it is parsed, and embedded objects. A page is persistent, by chance, and
// then comes over a few connections that carry object after object (HTTP/1.1, RFC 2616
// section 8.1.4); else every object has a connection of its own, a few of them open at a
// time (HTTP/1.0). In the open form (Config.Arrivals) connections with one exchange each
// arrive as a Poisson process, whatever became of those before.
//
// Every user has a stream of random numbers of its own, by seed and user, and draws
// page after page in an order that depends on nothing else: two networks see the same
// users, pages, sizes and round-trip times (common random numbers). What the users
// meet, such as when a page begins, differs.
//
// # Response times
//
// The first exchange of a connection is measured twice: from the call that opens the
// connection, and from the writing of the request. Exchanges that follow on the same
// connection have no handshake and are measured from the writing of the request. All
// that begin within a time of measurement count; those that have not ended at the end
// of the run count as longer than the run has seen them.
//
// # Not modelled
//
// Time at the servers, name resolution, caches, pipelining, users who give up, and
// connections that are broken off. A connection whose SYN is never answered is given
// up, and its objects are skipped.
package web
