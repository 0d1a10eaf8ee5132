/*
 * ISA-L as the other side: what it makes of given blocks, and how fast.
 *
 *   isal check COUNT BYTES            COUNT blocks of data on stdin; P and Q on stdout
 *   isal time COUNT BYTES SETS SECONDS   prints {"operations": N, "seconds": S}; an operation is one P and Q
 *
 * `time` goes round SETS sets of blocks, as `xtask/probe` does, so that both find as much in the caches.
 */
#include <isa-l/raid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 64

static void fail(const char *text)
{
	fprintf(stderr, "isal: %s\n", text);
	exit(1);
}

static void **blocks(int count, size_t bytes)
{
	void **set = calloc(MOST + 2, sizeof *set);
	int i;

	if (!set)
		fail("no memory");
	for (i = 0; i < count; i++) {
		set[i] = aligned_alloc(4096, bytes);
		if (!set[i])
			fail("no memory");
		memset(set[i], i + 1, bytes);
	}
	return set;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void check(int count, size_t bytes)
{
	void **set = blocks(count + 2, bytes);
	int i;

	for (i = 0; i < count; i++)
		if (fread(set[i], 1, bytes, stdin) != bytes)
			fail("stdin ended too soon");
	if (pq_gen(count + 2, bytes, set))
		fail("pq_gen refused the blocks");
	for (i = count; i < count + 2; i++)
		if (fwrite(set[i], 1, bytes, stdout) != bytes)
			fail("stdout is closed");
}

static void measure(int count, size_t bytes, int sets, double seconds)
{
	void ***all = calloc(sets, sizeof *all);
	unsigned long operations = 0;
	double start, elapsed;
	int i;

	if (!all)
		fail("no memory");
	for (i = 0; i < sets; i++)
		all[i] = blocks(count + 2, bytes);
	start = now();
	do {
		for (i = 0; i < sets; i++)
			if (pq_gen(count + 2, bytes, all[i]))
				fail("pq_gen refused the blocks");
		operations += sets;
		elapsed = now() - start;
	} while (elapsed < seconds);
	printf("{\"operations\": %lu, \"seconds\": %.9f}\n", operations, elapsed);
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[2]) : 0;
	size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	if (count < 2 || count > MOST || bytes == 0 || bytes % 4096)
		fail("usage: isal check COUNT BYTES | isal time COUNT BYTES SETS SECONDS (2 to 64 blocks of whole pages)");
	if (argc == 4 && !strcmp(argv[1], "check"))
		check(count, bytes);
	else if (argc == 6 && !strcmp(argv[1], "time") && atoi(argv[4]) > 0)
		measure(count, bytes, atoi(argv[4]), atof(argv[5]));
	else
		fail("neither check nor time");
	return 0;
}
