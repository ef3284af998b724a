/* Replaces functions of the C library. Shifts the wall clock by the seconds in the file CLOCK_SHIFT. If SPOIL_STDOUT
   is set, prints to stdout at each connect, as some libraries do. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, id, now);
    const char *path = getenv("CLOCK_SHIFT");
    if (result == 0 && id == CLOCK_REALTIME && path) {
        FILE *file = fopen(path, "re");
        long long shift = 0;
        if (file) {
            if (fscanf(file, "%lld", &shift) == 1) now->tv_sec += shift;
            fclose(file);
        }
    }
    return result;
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    if (getenv("SPOIL_STDOUT")) {
        printf("spoiled by printf\n");
        fflush(stdout);
        if (write(1, "spoiled by write\n", 17) < 0) abort();
    }
    return (int)syscall(SYS_connect, fd, address, length);
}
