/* The laws through functions that are not inlined: the peer of a method that is
 * called through an interface. usage: laws LOAD ROUNDS PACKETS ROW */
#include "common.h"
#include "laws.h"

static struct red red;
static struct codel codel;
static struct pie pie;
static int64_t now;
static double prob;
static int64_t delay;

static NOINLINE int red_call(struct red *r, int64_t t, struct packet p, struct backlog q) { return red_enqueue(r, t, p, q); }
static NOINLINE int codel_call(struct codel *c, int64_t t, struct packet p, struct backlog q) { return codel_dequeue(c, t, p, q); }
static NOINLINE int pie_enqueue_call(struct pie *s, int64_t t, struct packet p, struct backlog q) { return pie_enqueue(s, t, p, q); }
static NOINLINE void pie_dequeue_call(struct pie *s, int64_t t, struct packet p, struct backlog q) { pie_dequeue(s, t, p, q); }
static NOINLINE int none_call(void *a, int64_t t, struct packet p, struct backlog q) { (void)a, (void)t, (void)p, (void)q; return PASS; }

#define LOOP(name, body) \
	static NOINLINE uint64_t name(long n) \
	{ \
		uint64_t signals = 0; \
		for (long i = 0; i < n; i++) { \
			const struct step *s = &load[i % STEPS]; \
			now += s->wait; \
			struct packet p = {now - (int64_t)s->backlog * PACKET_TIME, s->size, (uint8_t)s->ecn}; \
			struct backlog q = {s->backlog, (int64_t)s->backlog * 1500}; \
			body; \
		} \
		return signals; \
	}
LOOP(none_loop, signals += none_call(&red, now, p, q) != PASS)
LOOP(red_loop, signals += red_call(&red, now, p, q) != PASS)
LOOP(codel_loop, signals += codel_call(&codel, now, p, q) != PASS)
LOOP(pie_loop, signals += pie_enqueue_call(&pie, now, p, q) != PASS; pie_dequeue_call(&pie, now, p, q))

static void reset(void)
{
	now = START;
	random_state = RANDOM_SEED;
	red_init(&red, 50, 150, 0.1);
	codel_init(&codel);
	pie_init(&pie, prob, delay);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	read_load(argv[1]);
	const char *row = argv[4];
	if (!strncmp(row, "pie/marking", 11))
		prob = 0.05, delay = PIE_TARGET;
	sample(row, atoi(argv[2]), atol(argv[3]), reset,
	       !strncmp(row, "red", 3) ? red_loop : !strncmp(row, "codel", 5) ? codel_loop : !strncmp(row, "pie", 3) ? pie_loop : none_loop);
	return 0;
}
