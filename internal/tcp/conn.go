package tcp

import (
	"math"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/internal/netmodel"
	"github.com/aqmkit/aqmkit/internal/sim"
)

// App is what uses one end of a connection. Its methods are called as things happen
// and may call those of the End.
type App interface {
	// Connected: the handshake is over for this end.
	Connected(now aqm.Time, e *End)
	// Read: n more bytes have arrived in order.
	Read(now aqm.Time, e *End, n int64)
	// Acked: n more bytes of what was written have reached the other end.
	Acked(now aqm.Time, e *End, n int64)
	// Closed: the other end has closed, and all it wrote was read; or err is set and
	// the handshake has failed, and the connection is gone.
	Closed(now aqm.Time, e *End, err error)
}

// NoApp does nothing, but to close after the other end has. It is made to be
// embedded.
type NoApp struct{}

// Connected does nothing.
func (NoApp) Connected(aqm.Time, *End) {}

// Read does nothing.
func (NoApp) Read(aqm.Time, *End, int64) {}

// Acked does nothing.
func (NoApp) Acked(aqm.Time, *End, int64) {}

// Closed closes this end too.
func (NoApp) Closed(now aqm.Time, e *End, err error) {
	if err == nil {
		e.Close(now)
	}
}

// Pool makes connections of one Config over one network, and takes them back when
// both ends have closed, so that millions of short ones need the memory of those
// that live at a time.
type Pool struct {
	net  *netmodel.Net
	p    *params
	free []*Conn

	Opened, Finished, Failed uint64
}

// NewPool returns a pool without connections. The error lists all that is wrong with
// the configuration.
func NewPool(net *netmodel.Net, c Config) (*Pool, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Pool{net: net, p: c.params()}, nil
}

// Conn is a connection. It must not be used after it has ended.
type Conn struct {
	Client, Server End
	pool           *Pool
}

// Dial opens a connection from the start of the route to its end, and sends the SYN
// now. flow is the packets' Flow. A nil App is NoApp.
func (l *Pool) Dial(now aqm.Time, r netmodel.Route, flow int, client, server App) *Conn {
	var c *Conn
	if n := len(l.free) - 1; n >= 0 {
		c = l.free[n]
		l.free = l.free[:n]
	} else {
		c = &Conn{pool: l}
		c.Client.init(c, &c.Server)
		c.Server.init(c, &c.Client)
	}
	l.Opened++
	c.Client.reset(r.Forward, flow, client)
	c.Server.reset(r.Reverse, flow, server)
	c.Server.state = listen
	c.Client.open(now)
	return c
}

// over gives the connection back once both ends are through.
func (c *Conn) over() {
	if c.Client.state != closed || c.Server.state != closed || c.Client.busy || c.Server.busy {
		return
	}
	c.Client.stop()
	c.Server.stop()
	c.pool.free = append(c.pool.free, c)
}

type state uint8

const (
	closed state = iota
	listen
	synSent
	synReceived
	established // and what follows, until both FINs are acknowledged
)

// phase is where loss recovery stands.
type phase uint8

const (
	open     phase = iota
	recovery       // fast recovery
	loss           // after a timeout
)

// forever is the length of a transfer without end.
const forever = math.MaxInt64 / 4

// End is one end of a connection: a sender and a receiver. The SYN has sequence
// number 0, the first byte 1, and the FIN the number after the last byte's.
type End struct {
	// Sender.
	una, nxt  int64 // lowest unacknowledged number; lowest number never sent
	end       int64 // 1 + what was written, and 1 more with finAsked
	cwnd      float64
	ssthresh  float64
	reduced   int64 // nxt at the last reduction of the window: one for each window of data
	p         *params
	out       netmodel.Flow
	peer      *End
	net       *netmodel.Net
	rtoAt     aqm.Time
	delackAt  aqm.Time
	armed     aqm.Time
	timedSeq  int64 // the number whose acknowledgement gives an RTT sample; 0: none
	timedAt   aqm.Time
	srtt      aqm.Time
	rttvar    aqm.Time
	rto       aqm.Time
	lastSend  aqm.Time
	sendAt    aqm.Time    // when the host's queue has room again
	departs   [2]aqm.Time // of the last segments from the host's queue; with SmallQueues
	state     state
	phase     phase
	ecn       bool // negotiated
	sendCWR   bool
	finAsked  bool
	byECN     bool // the last reduction of the window was ECN's
	dupacks   int32
	backoff   uint8
	synTries  int32
	synACKECT bool
	oneIW     bool // RFC 5562: the SYN-ACK was marked
	busy      bool
	gen       uint32

	// Receiver.
	rcvNxt   int64
	ackSent  int64 // the last Ack sent
	ce       bool  // RFC 3168: ECE until CWR. RFC 8257: DCTCP.CE
	ackNow   bool
	peerFIN  int64 // the FIN's number; 0: none yet
	ooo      spans
	recent   [netmodel.MaxSACK]int64 // a number in each block, the latest block first
	nRecent  uint8
	finRead  bool
	finAcked bool

	// Loss recovery.
	recover  int64 // nxt when it began
	lossEdge int64 // nxt at the timeout: all below counts as lost
	highRtx  int64 // HighRxt: what is not SACKed below it was sent again
	rtxOut   int64 // and of that, bytes that are neither SACKed nor acknowledged
	board    spans // what was SACKed above una

	cubic cubic
	dctcp dctcp

	app   App
	conn  *Conn
	id    sim.ID
	Stats Stats
}

// Stats are an end's counters.
type Stats struct {
	Segments, Bytes     uint64 // sent with payload; and their payload, with what was sent again
	Retransmits         uint64
	Timeouts            uint64
	Recoveries          uint64 // fast retransmits
	ECNReductions       uint64
	BytesAcked          uint64
	ACKs                uint64 // pure ACKs sent
	SYNs                uint64 // SYNs or SYN-ACKs sent
	Opened, Established aqm.Time
}

func (e *End) init(c *Conn, peer *End) {
	e.conn, e.peer, e.p, e.net = c, peer, c.pool.p, c.pool.net
	e.id = e.net.Sim().Add(e)
	e.armed = sim.Never
}

func (e *End) reset(path *netmodel.Path, flow int, app App) {
	if app == nil {
		app = NoApp{}
	}
	board, ooo := e.board, e.ooo
	board.reset()
	ooo.reset()
	*e = End{
		p: e.p, peer: e.peer, net: e.net, conn: e.conn, id: e.id, armed: e.armed, gen: e.gen,
		board: board, ooo: ooo, out: path.Flow(e.peer, flow), app: app,
		end: 1, ssthresh: math.MaxInt64 / 8, rtoAt: sim.Never, delackAt: sim.Never, sendAt: sim.Never, rto: e.p.initialRTO,
		dctcp: dctcp{alpha: 1},
	}
	if e.p.LikeNS2 {
		e.ssthresh = float64(e.p.ReceiveWindow)
	}
}

// stop makes what is still under way to this end be ignored.
func (e *End) stop() {
	e.gen++
	e.rtoAt, e.delackAt, e.sendAt = sim.Never, sim.Never, sim.Never
}

// Conn returns the connection of which e is an end.
func (e *End) Conn() *Conn { return e.conn }

// Flow returns the number given to Dial.
func (e *End) Flow() int { return e.out.ID() }

// Window returns the congestion window and the slow start threshold, in bytes.
func (e *End) Window() (cwnd, ssthresh float64) { return e.cwnd, e.ssthresh }

// RTT returns the smoothed round-trip time and the retransmission timeout.
func (e *End) RTT() (srtt, rto aqm.Time) { return e.srtt, e.rto }

// Alpha returns DCTCP's estimate of the share of marked bytes.
func (e *End) Alpha() float64 { return e.dctcp.alpha }

// Outstanding returns the bytes that were sent and are not acknowledged.
func (e *End) Outstanding() int64 { return e.nxt - e.una }

// ECN reports whether the ends agreed on it.
func (e *End) ECN() bool { return e.ecn }

// Write gives n more bytes to send. It does nothing after Close.
func (e *End) Write(now aqm.Time, n int64) {
	if e.finAsked || n <= 0 {
		return
	}
	if e.una == e.nxt && e.state == established {
		e.idleRestart(now)
	}
	e.end = min(e.end+min(n, forever), forever)
	e.output(now)
}

// WriteForever gives more to send than can be sent.
func (e *End) WriteForever(now aqm.Time) { e.Write(now, forever) }

// Close sends a FIN after all that was written.
func (e *End) Close(now aqm.Time) {
	if e.finAsked || e.state == closed {
		return
	}
	e.finAsked = true
	e.end++
	e.output(now)
}

// idleRestart is RFC 5681 section 4.1: after an idle time of more than an RTO the
// window is that of the start, or less.
func (e *End) idleRestart(now aqm.Time) {
	if now-e.lastSend > e.rto {
		e.cwnd = min(e.cwnd, e.initialWindow())
	}
}

func (e *End) initialWindow() float64 {
	if e.oneIW {
		return e.p.fmss // RFC 5562 section 3.1
	}
	return float64(e.p.InitialWindow) * e.p.fmss
}
