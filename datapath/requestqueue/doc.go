// Package requestqueue puts an AQM in front of an http.Handler: so many requests are
// served at a time, the others wait in an [aqm.FIFO], and when they have waited for
// too long for a while some are refused with 503 and Retry-After, before the queue is
// so long that whatever is served comes too late to be of use.
//
// It is the same machine as in a network: a request is a packet of Size 1 that is not
// ECN-capable, so that a queue is as many bytes long as it has requests, and a signal
// is a refusal.
//
// # Algorithms
//
// CoDel and PIE measure the time that a request has waited, and need no rate; the
// functions [CoDel] and [PIE] configure them for requests. Where sizes are 1, CoDel's
// MTU and PIE's MeanPacket are 1 too: with 1500 neither would act on a queue of
// less than 1500 or 3000 requests. RED and PI in packets and a threshold in packets work
// as well, for a server of known speed.
//
// A refusal slows its client down only if that heeds Retry-After. Against clients
// that do not, an AQM is left with its drops: PIE integrates until it drops as much as
// is too much; CoDel drops faster and faster, and takes seconds to get where a gross
// overload needs it. docs/requestqueue.md has figures.
//
// # Goroutines
//
// net/http calls the handler from a goroutine for each request, and an AQM belongs to
// one at a time: a mutex makes them take turns, each as long as a few decisions take.
// There is no goroutine of the queue's own: a request that comes or has been served
// brings the next ones out.
//
// A client that goes away while its request waits has it skipped when its turn comes.
// The request counts as waiting until then, since a FIFO gives nothing up from its
// middle.
package requestqueue
