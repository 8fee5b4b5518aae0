/* RED, CoDel and PIE in plain C, from the papers and RFCs, as one would write them
 * for a datapath in C. */
#include <math.h>
#include <stdbool.h>

struct packet { int64_t enqueued; uint32_t size; uint8_t ecn; };
struct backlog { int64_t packets, bytes; };
enum verdict { PASS, MARK, DROP };
static inline int signal_to(struct packet p) { return p.ecn ? MARK : DROP; }

/* RED [S. Floyd and V. Jacobson 1993, Fig. 2]: the average in fixed point with a
 * weight that is a power of two, and one draw per signal, as in aqmkit: a signal is
 * due once count*p_b reaches a number that is uniform on (0, 1]. */
#define RED_SHIFT 20
#define RED_WEIGHT 9
struct red {
	int64_t avg, min_th, max_th, idle_since;
	double slope, need; /* need: in packets times slope */
	uint32_t count;
	bool idle, drawn;
};

static void red_init(struct red *r, int min_th, int max_th, double max_p)
{
	memset(r, 0, sizeof *r);
	r->min_th = (int64_t)min_th << RED_SHIFT;
	r->max_th = (int64_t)max_th << RED_SHIFT;
	r->slope = max_p / (double)(r->max_th - r->min_th);
}

static NOINLINE void red_idle(struct red *r, int64_t now)
{
	int64_t m = (now - r->idle_since) / 120000; /* packets of 1500 bytes at 100 Mb/s */
	r->avg = (int64_t)((double)r->avg * pow(1 - 1.0 / (1 << RED_WEIGHT), (double)m));
	r->idle = false;
}

static inline int red_enqueue(struct red *r, int64_t now, struct packet p, struct backlog q)
{
	if (q.packets == 0) {
		if (r->idle)
			red_idle(r, now);
		r->idle = true;
		r->idle_since = now;
	} else {
		r->idle = false;
		r->avg += ((q.packets << RED_SHIFT) - r->avg) >> RED_WEIGHT;
	}
	if (r->avg < r->min_th) {
		r->drawn = false;
		return PASS;
	}
	if (r->avg >= r->max_th) {
		r->drawn = false;
		return DROP;
	}
	if (!r->drawn) {
		r->drawn = true;
		r->count = 0;
		r->need = uniform() / r->slope;
	}
	r->count++;
	if ((double)((int64_t)r->count * (r->avg - r->min_th)) < r->need)
		return PASS;
	r->count = 0;
	r->need = uniform() / r->slope;
	return signal_to(p);
}

/* CoDel [RFC 8289 section 5], a packet at a time: what the RFC's routine does between
 * two packets that it takes from the queue is state here. */
struct codel {
	int64_t target, interval, first_above, drop_next;
	uint32_t count, lastcount, mtu;
	bool dropping, dropped;
};

static void codel_init(struct codel *c)
{
	memset(c, 0, sizeof *c);
	c->target = 5000000;
	c->interval = 100000000;
	c->mtu = 1514;
}

static inline int64_t control_law(const struct codel *c, int64_t t)
{
	return t + (int64_t)((double)c->interval / sqrt((double)c->count));
}

static inline bool ok_to_drop(struct codel *c, int64_t now, struct packet p, struct backlog q)
{
	if (now - p.enqueued < c->target || q.bytes <= c->mtu) {
		c->first_above = 0;
		return false;
	}
	if (c->first_above == 0) {
		c->first_above = now + c->interval;
		return false;
	}
	return now >= c->first_above;
}

static inline int codel_dequeue(struct codel *c, int64_t now, struct packet p, struct backlog q)
{
	bool ok = ok_to_drop(c, now, p, q);
	if (c->dropping) {
		if (!ok) {
			c->dropping = c->dropped = false;
			return PASS;
		}
		if (now < c->drop_next)
			return PASS;
		c->count++;
		c->drop_next = control_law(c, c->drop_next);
		return signal_to(p);
	}
	if (!ok)
		return PASS;
	uint32_t delta = c->count - c->lastcount;
	c->dropping = true;
	c->count = delta > 1 && now - c->drop_next < 16 * c->interval ? delta : 1;
	c->drop_next = control_law(c, now);
	c->lastcount = c->count;
	return signal_to(p);
}

/* PIE [RFC 8033 sections 4, 5 and Appendix B], with timestamps. */
struct pie {
	int64_t next, burst, delay, old;
	double prob, accumulated;
};
#define PIE_TARGET 15000000
#define PIE_UPDATE 15000000
#define PIE_BURST 150000000

static void pie_init(struct pie *p, double prob, int64_t delay)
{
	memset(p, 0, sizeof *p);
	p->prob = prob;
	p->burst = prob > 0 ? 0 : PIE_BURST;
	p->delay = p->old = delay;
}

static NOINLINE void pie_update(struct pie *s, int64_t now)
{
	double d = 0.125 * (double)(s->delay - PIE_TARGET) / 1e9 + 1.25 * (double)(s->delay - s->old) / 1e9;
	if (s->prob < 0.000001) d /= 2048;
	else if (s->prob < 0.00001) d /= 512;
	else if (s->prob < 0.0001) d /= 128;
	else if (s->prob < 0.001) d /= 32;
	else if (s->prob < 0.01) d /= 8;
	else if (s->prob < 0.1) d /= 2;
	else if (d > 0.02) d = 0.02;
	s->prob += d;
	if (s->delay < PIE_TARGET / 2 && s->old < PIE_TARGET / 2)
		s->prob *= 0.98;
	if (s->prob < 0) s->prob = 0;
	if (s->prob > 1) s->prob = 1;
	if (s->delay < PIE_TARGET / 2 && s->old < PIE_TARGET / 2 && s->prob == 0)
		s->burst = PIE_BURST;
	else
		s->burst = s->burst > PIE_UPDATE ? s->burst - PIE_UPDATE : 0;
	s->old = s->delay;
	s->next = now + PIE_UPDATE;
}

static inline int pie_enqueue(struct pie *s, int64_t now, struct packet p, struct backlog q)
{
	if (now >= s->next)
		pie_update(s, now);
	if (s->burst > 0 || (s->old < PIE_TARGET / 2 && s->prob < 0.2) || q.bytes <= 2 * 1500)
		return PASS;
	if (s->prob == 0)
		s->accumulated = 0;
	s->accumulated += s->prob;
	if (s->accumulated < 0.85)
		return PASS;
	if (s->accumulated < 8.5 && uniform() > s->prob)
		return PASS;
	s->accumulated = 0;
	return s->prob < 0.1 ? signal_to(p) : DROP;
}

static inline void pie_dequeue(struct pie *s, int64_t now, struct packet p, struct backlog q)
{
	if (now >= s->next)
		pie_update(s, now);
	s->delay = q.packets ? now - p.enqueued : 0;
}
