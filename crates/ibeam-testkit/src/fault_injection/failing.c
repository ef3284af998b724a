/* Replaces functions of the C library: calls wait or fail.

SLOW_CALL=NAME        each call of NAME (fdatasync, fsync, rename, flock, readdir64, write, realpath) waits
   SLOW_SECONDS=N        for this time,
   SLOW_WHEN=FILE        as soon as this file exists; without it, always.
   FAILING_WRITES=FILE   a write to a regular file fails with EIO as soon as this file exists.
PANIC_IN=THREAD       the clock fails once in the thread with this name, which causes a panic,
   PANIC_WHEN=FILE       as soon as this file exists. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int exists(const char *path) { return path && syscall(SYS_access, path, F_OK) == 0; }

static void slow(const char *name) {
    const char *wanted = getenv("SLOW_CALL"), *seconds = getenv("SLOW_SECONDS"), *when = getenv("SLOW_WHEN");
    if (!wanted || !seconds || strcmp(wanted, name) != 0 || (when && !exists(when))) return;
    struct timespec left = { atoi(seconds), 0 };
    while (nanosleep(&left, &left) != 0) continue;
}

int fdatasync(int fd) { slow("fdatasync"); return (int)syscall(SYS_fdatasync, fd); }
int fsync(int fd) { slow("fsync"); return (int)syscall(SYS_fsync, fd); }
int flock(int fd, int operation) { slow("flock"); return (int)syscall(SYS_flock, fd, operation); }
int rename(const char *from, const char *to) { slow("rename"); return (int)syscall(SYS_rename, from, to); }

struct dirent64 *readdir64(DIR *directory) {
    static struct dirent64 *(*real)(DIR *);
    if (!real) real = (struct dirent64 *(*)(DIR *))dlsym(RTLD_NEXT, "readdir64");
    slow("readdir64");
    return real(directory);
}

char *realpath(const char *path, char *resolved) {
    static char *(*real)(const char *, char *);
    if (!real) real = (char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath");
    slow("realpath");
    return real(path, resolved);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    struct stat status;
    if (fd > 2 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        if (exists(getenv("FAILING_WRITES"))) {
            errno = EIO;
            return -1;
        }
        slow("write");
    }
    return syscall(SYS_write, fd, bytes, count);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int failed;
    char name[16] = "";
    const char *thread = getenv("PANIC_IN");
    if (thread && !failed && exists(getenv("PANIC_WHEN")) && prctl(PR_GET_NAME, name) == 0
        && strcmp(name, thread) == 0) {
        failed = 1;
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_clock_gettime, id, now);
}
