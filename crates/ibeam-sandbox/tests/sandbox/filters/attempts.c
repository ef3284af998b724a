/* Makes each refused call, in a form that every user may make without a filter, and prints the result: a line with
 * the name and `done`, or the error number. Harmless without a filter. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *name, long answer)
{
	if (answer < 0)
		printf("%s %d\n", name, errno);
	else
		printf("%s done\n", name);
	fflush(stdout);
}

/* Returns how many more Landlock layers this process can add, of 16 in total. */
static int layers(void)
{
	unsigned long long execute = 1;
	int count = 0;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (;;) {
		int ruleset = syscall(SYS_landlock_create_ruleset, &execute, sizeof execute, 0);
		if (ruleset < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
			return count;
		close(ruleset);
		count++;
	}
}

/* Runs the call in a child, so that its effects end with the child. */
#define ATTEMPT(name, call)                                                                                           \
	do {                                                                                                          \
		if (fork() == 0) {                                                                                    \
			tell(name, (long)(call));                                                                     \
			_exit(0);                                                                                     \
		}                                                                                                     \
		wait(NULL);                                                                                           \
	} while (0)

int main(void)
{
	char here = 'x', there = 0;
	struct iovec from = {&here, 1}, to = {&there, 1};
	struct io_uring_params ring = {0};
	struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
					.size = sizeof event,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.exclude_kernel = 1};
	struct {
		unsigned long long flags, rest[10];
	} thread = {0};
	thread.rest[3] = SIGCHLD;

	ATTEMPT("io_uring_setup", syscall(SYS_io_uring_setup, 1, &ring));
	ATTEMPT("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
	ATTEMPT("process_vm_readv", process_vm_readv(getpid(), &to, 1, &from, 1, 0));
	ATTEMPT("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 1));
	ATTEMPT("unshare", unshare(CLONE_FS));
	ATTEMPT("unshare_user", unshare(CLONE_NEWUSER));
	ATTEMPT("clone_user", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	ATTEMPT("clone3", syscall(SYS_clone3, &thread, sizeof thread));
	ATTEMPT("add_key", syscall(SYS_add_key, "user", "ibeam-test", "x", 1, KEY_SPEC_PROCESS_KEYRING));
	ATTEMPT("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1));
	ATTEMPT("userfaultfd", syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
	ATTEMPT("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
	ATTEMPT("personality", personality(READ_IMPLIES_EXEC));
	ATTEMPT("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
	ATTEMPT("fanotify_init", syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, 0));
	ATTEMPT("adjtimex", syscall(SYS_adjtimex, (char[1024]){0}));
	ATTEMPT("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
	ATTEMPT("mkfifo", mknod("fifo", S_IFIFO | 0600, 0));
	ATTEMPT("getpid", syscall(SYS_getpid));
	/* Descriptor 0 is not a terminal; the filter is checked first. */
	ATTEMPT("tiocsti", ioctl(0, TIOCSTI, "x"));
	/* Invalid arguments, so that the call has no effect without a filter. */
	ATTEMPT("mount", syscall(SYS_mount, 0, 0, 0, 0, 0));
	ATTEMPT("bpf", syscall(SYS_bpf, -1, 0, 0));
	ATTEMPT("kexec_load", syscall(SYS_kexec_load, -1, -1, 0, -1));
	printf("landlock %d\n", layers());
	return 0;
}
