package tcp

// dctcp is the sender's state of RFC 8257 section 3.3.
type dctcp struct {
	alpha         float64
	acked, marked int64 // DCTCP.BytesAcked, DCTCP.BytesMarked
	windowEnd     int64
}

// count counts the bytes of an ACK, and as marked if it has ECE.
func (d *dctcp) count(acked int64, ece bool) {
	d.acked += acked
	if ece {
		d.marked += acked
	}
}

// window ends an observation window, once e.una has passed the end of it.
func (d *dctcp) window(e *End) {
	if e.una <= d.windowEnd || d.acked == 0 {
		return
	}
	m := float64(d.marked) / float64(d.acked)
	g := e.p.Gain
	d.alpha = float64(d.alpha*(1-g)) + float64(g*m) // equation 8
	d.acked, d.marked = 0, 0
	d.windowEnd = e.nxt
}
