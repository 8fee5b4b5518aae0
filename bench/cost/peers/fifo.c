/* A packet's way through a FIFO of pointers under a law: INLINED, everything in one
 * loop; else the architecture of aqmkit with function pointers, where queue and law
 * are called and are not inlined. usage: fifo LOAD ROUNDS PACKETS ROW */
#include "common.h"
#include "laws.h"

#define LIMIT 1000
#define SLOTS 1024

#ifdef INLINED
#define CALL static inline __attribute__((always_inline))
#else
#define CALL static NOINLINE
#endif

struct slot { void *item; int64_t at; uint32_t size; uint8_t ecn; };
struct ops {
	int (*enqueue)(void *, int64_t, struct packet, struct backlog);
	int (*dequeue)(void *, int64_t, struct packet, struct backlog);
};
struct fifo {
	const struct ops *ops;
	void *law;
	uint64_t head, tail, head_bytes, tail_bytes;
	uint64_t refused, dropped, marked;
	struct slot slots[SLOTS];
};

CALL int fifo_enqueue(struct fifo *f, const struct ops *ops, int64_t now, void *item, uint32_t size, uint8_t ecn)
{
	struct backlog q = {(int64_t)(f->tail - f->head), (int64_t)(f->tail_bytes - f->head_bytes)};
	if (q.packets >= LIMIT) {
		f->refused++;
		return DROP;
	}
	struct packet p = {now, size, ecn};
	int v = ops->enqueue(f->law, now, p, q);
	if (v == DROP) {
		f->refused++;
		return v;
	}
	if (v == MARK) {
		f->marked++;
		ecn = 3;
	}
	f->slots[f->tail++ % SLOTS] = (struct slot){item, now, size, ecn};
	f->tail_bytes += size;
	return v;
}

CALL void *fifo_dequeue(struct fifo *f, const struct ops *ops, int64_t now, struct packet *out)
{
	while (f->head != f->tail) {
		struct slot *s = &f->slots[f->head++ % SLOTS];
		struct packet p = {s->at, s->size, s->ecn};
		void *item = s->item;
		f->head_bytes += p.size;
		struct backlog q = {(int64_t)(f->tail - f->head), (int64_t)(f->tail_bytes - f->head_bytes)};
		int v = ops->dequeue(f->law, now, p, q);
		s->item = NULL;
		if (v == MARK) {
			f->marked++;
			p.ecn = 3;
		}
		if (v != DROP) {
			*out = p;
			return item;
		}
		f->dropped++;
	}
	return NULL;
}

static struct fifo fifo;
static struct red red;
static struct codel codel;
static int64_t now;

CALL int none(void *a, int64_t t, struct packet p, struct backlog q) { (void)a, (void)t, (void)p, (void)q; return PASS; }
CALL int red_in(void *a, int64_t t, struct packet p, struct backlog q) { return red_enqueue(a, t, p, q); }
CALL int codel_out(void *a, int64_t t, struct packet p, struct backlog q) { return codel_dequeue(a, t, p, q); }

static const struct ops none_ops = {none, none}, red_ops = {red_in, none}, codel_ops = {none, codel_out};

static uint64_t signals(void) { return fifo.marked + fifo.dropped + fifo.refused; }

#define LOOP(name, what) \
	static NOINLINE uint64_t name(long n) \
	{ \
		const struct ops *ops = what; \
		uint64_t bytes = 0, before = signals(); \
		for (long i = 0; i < n; i++) { \
			const struct step *s = &load[i % STEPS]; \
			struct packet p; \
			now += s->wait; \
			fifo_enqueue(&fifo, ops, now, &fifo, s->size, (uint8_t)s->ecn); \
			while (fifo.tail - fifo.head > s->level) \
				if (fifo_dequeue(&fifo, ops, now, &p)) \
					bytes += p.size; \
		} \
		sink += bytes; \
		return signals() - before; \
	}
#ifdef INLINED
LOOP(none_loop, &none_ops)
LOOP(red_loop, &red_ops)
LOOP(codel_loop, &codel_ops)
#else
LOOP(none_loop, fifo.ops)
#define red_loop none_loop
#define codel_loop none_loop
#endif

static const struct ops *ops = &none_ops;
static void *law;

/* The queue is filled to where the load keeps it. What stands there at first came
 * before, and has waited for what is before it. */
static void reset(void)
{
	now = START;
	random_state = RANDOM_SEED;
	red_init(&red, 50, 150, 0.1);
	codel_init(&codel);
	memset(&fifo, 0, sizeof fifo);
	fifo.ops = ops;
	fifo.law = law;
	for (int i = 0; i < load[0].level; i++)
		fifo_enqueue(&fifo, ops, now - (int64_t)(load[0].level - i) * PACKET_TIME, &fifo, load[i].size, (uint8_t)load[i].ecn);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	read_load(argv[1]);
	uint64_t (*loop)(long) = none_loop;
	if (!strncmp(argv[4], "red", 3))
		ops = &red_ops, law = &red, loop = red_loop;
	else if (!strncmp(argv[4], "codel", 5))
		ops = &codel_ops, law = &codel, loop = codel_loop;
	sample(argv[4], atoi(argv[2]), atol(argv[3]), reset, loop);
	return 0;
}
