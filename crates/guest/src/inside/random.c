/* Chance from a seed, for the process that is the guest's kernel (LD_PRELOAD): what it asks the
 * host for goes into its own pool, and from there into identifiers and places of file systems. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

static uint64_t state;
static int seeded;

/* SplitMix64, by Sebastiano Vigna, in the public domain. */
static uint64_t next(void)
{
	uint64_t word = state += 0x9e3779b97f4a7c15u;

	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
	word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
	return word ^ (word >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *bytes = buffer;
	uint64_t word = 0;
	size_t index;

	(void)flags;
	if (!seeded) {
		const char *seed = getenv("RAIDLOOM_GUEST_SEED");

		state = seed ? strtoull(seed, NULL, 10) : 0;
		seeded = 1;
	}
	for (index = 0; index < length; index++) {
		if (index % 8 == 0)
			word = next();
		bytes[index] = (unsigned char)(word >> (8 * (index % 8)));
	}
	return (ssize_t)length;
}
