/*
 * Loaded into user-mode Linux by uml.sh on processors with large registers (AMX).
 *
 * The kernel of user-mode Linux sets the vector registers of its processes with as many bytes as it knew of when it was built; the host's
 * kernel takes all of them or none, and the first process dies ("ptrace set fp regs failed"). Here what is beyond is left as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

long ptrace(enum __ptrace_request request, ...)
{
    static long (*next)(enum __ptrace_request, ...);
    static __thread char all[64 << 10];
    va_list list;
    va_start(list, request);
    pid_t process = va_arg(list, pid_t);
    void *address = va_arg(list, void *);
    void *data = va_arg(list, void *);
    va_end(list);

    if (!next)
        next = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
    long done = next(request, process, address, data);
    if (done != -1 || errno != EFAULT || request != PTRACE_SETREGSET || (long)address != NT_X86_XSTATE)
        return done;

    struct iovec *known = data;
    struct iovec whole = { all, sizeof all };
    if (next(PTRACE_GETREGSET, process, address, &whole) == -1)
        return -1;
    memcpy(all, known->iov_base, known->iov_len < whole.iov_len ? known->iov_len : whole.iov_len);
    return next(PTRACE_SETREGSET, process, address, &whole);
}
