/* Registers of the guest's programs, for the process that is the guest's kernel (LD_PRELOAD).
 *
 * The kernel keeps room for the registers that processors had when it was written. The host takes
 * them back only whole, so that on a processor with more (AMX) every program would die as soon as
 * it ran. What the kernel has no room for stays as the program has it. */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

/* More than any processor has. */
static char whole[1 << 16];

long ptrace(enum __ptrace_request request, ...)
{
	struct iovec all = { whole, sizeof(whole) };
	struct iovec *given;
	void *address, *data;
	long word, result;
	va_list rest;
	pid_t program;

	va_start(rest, request);
	program = va_arg(rest, pid_t);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
		/* The C library returns the word itself. */
		result = syscall(SYS_ptrace, request, program, address, &word);
		if (result < 0)
			return result;
		errno = 0;
		return word;
	}
	given = data;
	if (request == PTRACE_SETREGSET && (unsigned long)address == NT_X86_XSTATE &&
	    syscall(SYS_ptrace, PTRACE_GETREGSET, program, address, &all) == 0 &&
	    given->iov_len < all.iov_len) {
		memcpy(whole, given->iov_base, given->iov_len);
		data = &all;
	}
	return syscall(SYS_ptrace, request, program, address, data);
}
