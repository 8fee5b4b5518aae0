/* What the peers share: the load that aqmbench hands over in a file, the clock,
 * and the loop of samples. One line per sample goes to the standard output:
 * row, tab, nanoseconds per packet, tab, share of the packets that were signalled. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A function that the compiler knows nothing about where it is called, as little as
 * of one behind an interface. */
#define NOINLINE __attribute__((noipa))
#define STEPS 4096

struct step { uint32_t wait; int32_t backlog; uint32_t size; uint16_t ecn, level; };
static struct step load[STEPS];
static volatile uint64_t sink;

/* seconds of this thread, so that others' turns do not count */
static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_load(const char *name)
{
	FILE *f = fopen(name, "rb");
	if (!f || fread(load, sizeof load, 1, f) != 1) {
		fprintf(stderr, "%s: cannot read the load\n", name);
		exit(1);
	}
	fclose(f);
}

/* run passes n packets and returns how many were signalled. Every sample starts
 * anew: from reset, with the load run through twice. */
static void sample(const char *row, int rounds, long n, void (*reset)(void), uint64_t (*run)(long))
{
	for (int i = 0; i < rounds; i++) {
		reset();
		sink += run(2 * STEPS);
		double start = seconds();
		uint64_t signals = run(n);
		double took = seconds() - start;
		printf("%s\t%.4f\t%.6f\n", row, took * 1e9 / (double)n, (double)signals / (double)n);
	}
}

#define START 3600000000000
#define PACKET_TIME 120000 /* 1500 bytes at 100 Mb/s */

/* xorshift64 [G. Marsaglia 2003] */
#define RANDOM_SEED 88172645463325252u
static uint64_t random_state = RANDOM_SEED;
static inline uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}
static inline double uniform(void) { return (double)((random64() >> 11) + 1) * 0x1p-53; }
