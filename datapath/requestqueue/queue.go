package requestqueue

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/aqmkit/aqmkit/aqm"
)

// Queue is an http.Handler that has requests wait for their turn; use New.
type Queue struct {
	next       http.Handler
	classify   func(*http.Request) aqm.Packet
	refuse     func(http.ResponseWriter, *http.Request, aqm.Verdict)
	retryAfter string
	start      time.Time // of the queue's clock
	workers    int

	mu      sync.Mutex
	fifo    *aqm.FIFO[*request]
	serving int
	gone    uint64
}

// request is one that waits.
type request struct {
	turn chan aqm.Verdict // once: a pass, or the drop; it has room for it
	gone bool             // its client; under the Queue's lock
}

// New returns a Queue in front of next.
func New(next http.Handler, c Config) (*Queue, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	q := &Queue{
		next: next, classify: c.Classify, refuse: c.Refuse, workers: c.Workers, start: time.Now(),
		retryAfter: strconv.FormatInt(int64((c.RetryAfter+time.Second-1)/time.Second), 10),
	}
	var err error
	q.fifo, err = aqm.NewFIFO(aqm.FIFOConfig[*request]{
		LimitPackets: c.Limit,
		OnDrop:       func(r *request, _ aqm.Packet, v aqm.Verdict) { r.turn <- v },
	}, c.AQM)
	return q, err
}

// ServeHTTP serves a request when it is its turn, or refuses it.
func (q *Queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	waiting := &request{turn: make(chan aqm.Verdict, 1)}
	p := aqm.Packet{Size: 1, Class: aqm.Other}
	if q.classify != nil {
		p = q.classify(r)
		p.ECN = aqm.NotECT // there is no such thing as a mark
	}
	v := q.arrive(waiting, p)
	if v.Action != aqm.Drop {
		select {
		case v = <-waiting.turn:
		case <-r.Context().Done():
			if q.leave(waiting) {
				return
			}
			v = <-waiting.turn
		}
	}
	if v.Action == aqm.Drop {
		q.answer(w, r, v)
		return
	}
	defer q.served() // also where the handler panics
	q.next.ServeHTTP(w, r)
}

// now returns the queue's time. It is read under the lock, so that it does not go back
// from one call of the algorithm to the next.
func (q *Queue) now() aqm.Time { return aqm.Time(time.Since(q.start)) }

func (q *Queue) arrive(r *request, p aqm.Packet) aqm.Verdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	v := q.fifo.Enqueue(now, r, p)
	q.admit(now)
	return v
}

func (q *Queue) served() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serving--
	q.admit(q.now())
}

// admit lets requests in as long as there are workers for them.
func (q *Queue) admit(now aqm.Time) {
	for q.serving < q.workers {
		r, _, ok := q.fifo.Dequeue(now)
		if !ok {
			return
		}
		if r.gone {
			continue
		}
		q.serving++
		r.turn <- aqm.Verdict{}
	}
}

// leave takes a request whose client is gone out of those that wait, and reports
// whether it was one of them still.
func (q *Queue) leave(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(r.turn) > 0 { // its turn has come, or it was dropped
		return false
	}
	r.gone = true
	q.gone++
	return true
}

func (q *Queue) answer(w http.ResponseWriter, r *http.Request, v aqm.Verdict) {
	w.Header().Set("Retry-After", q.retryAfter)
	if q.refuse != nil {
		q.refuse(w, r, v)
		return
	}
	http.Error(w, "the server is overloaded; try again later", http.StatusServiceUnavailable)
}

// Stats is a snapshot of what a Queue has done.
type Stats struct {
	Requests aqm.Stats // Marked is 0
	Waiting  int
	Serving  int
	Gone     uint64 // clients that left while they waited; their requests count as delivered or dropped once their turn has come
}

// Stats returns the counters as they are now. Any goroutine may ask.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Requests: q.fifo.Stats(), Waiting: q.fifo.Len(), Serving: q.serving, Gone: q.gone}
}

// Reconfigure calls change while no other goroutine uses the algorithm.
func (q *Queue) Reconfigure(change func() error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return change()
}
