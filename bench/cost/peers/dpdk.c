/* RED and PIE of DPDK through functions that are not inlined. usage: dpdk LOAD ROUNDS
 * PACKETS ROW. The time is a number that counts nanoseconds. */
#include "common.h"
#include <rte_red.h>
#include <rte_pie.h>
#include <rte_random.h>

static struct rte_red_config red_config;
static struct rte_red red;
static struct rte_pie_config pie_config;
static struct rte_pie pie;
static uint64_t now;
static double drop_prob;

static NOINLINE int red_call(const struct rte_red_config *c, struct rte_red *r, unsigned q, uint64_t t) { return rte_red_enqueue(c, r, q, t); }
static NOINLINE int pie_in(const struct rte_pie_config *c, struct rte_pie *p, unsigned q, uint32_t size, uint64_t t) { return rte_pie_enqueue(c, p, q, size, t); }
static NOINLINE void pie_out(struct rte_pie *p, uint32_t size, uint64_t t) { rte_pie_dequeue(p, size, t); }

static NOINLINE uint64_t red_loop(long n)
{
	uint64_t signals = 0;
	for (long i = 0; i < n; i++) {
		const struct step *s = &load[i % STEPS];
		now += s->wait;
		signals += red_call(&red_config, &red, (unsigned)s->backlog, now) != 0;
	}
	return signals;
}

/* The queue stays at the level it was set to: what is accepted departs, and is
 * subtracted as DPDK's scheduler does it. */
static NOINLINE uint64_t pie_loop(long n)
{
	uint64_t signals = 0;
	for (long i = 0; i < n; i++) {
		const struct step *s = &load[i % STEPS];
		now += s->wait;
		if (pie_in(&pie_config, &pie, (unsigned)pie.qlen, s->size, now) != 0) {
			signals++;
			pie.accu_prob = 0; /* which 22.11 forgets once it is past 8.5 */
			continue;
		}
		pie.qlen--;
		pie.qlen_bytes -= s->size;
		pie_out(&pie, s->size, now);
	}
	return signals;
}

static void reset(void)
{
	now = START;
	rte_red_rt_data_init(&red);
	rte_red_rand_seed = 1;
	rte_red_rand_val = 1 << 20;
	rte_srand(1);
	memset(&pie, 0, sizeof pie);
	pie.active = 1;
	pie.qlen = 500;
	pie.qlen_bytes = 500 * 1000;
	pie.avg_dq_time = 16384 * 40;
	pie.qdelay_old = 20000000;
	pie.drop_prob = drop_prob;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	read_load(argv[1]);
	if (rte_red_config_init(&red_config, 9, 50, 150, 10))
		return 1;
	pie_config.qdelay_ref = 15000000;
	pie_config.dp_update_interval = ~0ull; /* p stays where it is set: its updates go astray */
	pie_config.max_burst = 150000000;
	pie_config.tailq_th = 1000;
	if (!strncmp(argv[4], "pie/marking", 11))
		drop_prob = 0.05;
	sample(argv[4], atoi(argv[2]), atol(argv[3]), reset, !strncmp(argv[4], "red", 3) ? red_loop : pie_loop);
	return 0;
}
