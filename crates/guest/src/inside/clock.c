/* A program that waits by looking at the clock, and starts before it has a second thread
 * (LD_PRELOAD, for fio in a guest).
 *
 * Computing takes no time in a guest, and a look at its clock moves that by 256 ns, for 25 us of
 * real time. fio looks until 1.28 ms have passed, 51 times and more, to learn how fast the
 * processor's counter runs: hundreds of thousands of looks before it has done anything. Here it
 * sleeps meanwhile. Once it has threads its looks are its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* So many looks from one place of the program, with none from another between them, are a wait. */
#define LOOKS 4
/* As long as fio waits each time. */
#define NAP_NANOSECONDS 1280000

static const void *place;
static int looks, has_threads;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static const struct timespec nap = { 0, NAP_NANOSECONDS };
	const void *caller = __builtin_return_address(0);

	if (!has_threads) {
		looks = caller == place ? looks + 1 : 1;
		place = caller;
		if (looks > LOOKS)
			syscall(SYS_nanosleep, &nap, NULL);
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
		   void *with)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	has_threads = 1;
	create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
		RTLD_NEXT, "pthread_create");
	return create(thread, attributes, begin, with);
}

/* Not for what it starts. */
__attribute__((constructor)) static void alone(void)
{
	unsetenv("LD_PRELOAD");
}
