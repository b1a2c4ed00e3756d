/*
 * Lets user-mode Linux run on hosts whose processors keep more extended state than it expects.
 *
 * User-mode Linux saves and restores floating point state in a buffer of fixed size; the host refuses to restore
 * anything but a whole state (EFAULT), and with AMX a whole state is larger than that buffer. The tail that does not
 * fit never changes, so it is filled in from what the process has.
 *
 * gcc -shared -fPIC -O2 -o xstate.so xstate.c -ldl; LD_PRELOAD=xstate.so linux.uml ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define WHOLE 65536

long ptrace(enum __ptrace_request request, ...)
{
	static long (*host)(enum __ptrace_request, ...);
	static char whole[WHOLE];
	va_list rest;
	long process;
	void *address, *data;

	va_start(rest, request);
	process = va_arg(rest, long);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);
	if (!host)
		host = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
		struct iovec *part = data, full = { whole, WHOLE };

		if (host(PTRACE_GETREGSET, process, address, &full) == 0 && part->iov_len < full.iov_len) {
			memcpy(whole, part->iov_base, part->iov_len);
			return host(PTRACE_SETREGSET, process, address, &full);
		}
	}
	return host(request, process, address, data);
}
