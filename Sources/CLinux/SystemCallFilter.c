#define _GNU_SOURCE
#include "SystemCallFilter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define MOST_STEPS (sizeof(((struct chatfs_filter *)0)->steps) / sizeof(struct sock_filter))

void chatfs_filter_add(
    struct chatfs_filter *filter, unsigned short code, unsigned char yes, unsigned char no, unsigned value) {
    if (filter->count == MOST_STEPS) {
        filter->is_full = 1;
        return;
    }
    filter->steps[filter->count++] = (struct sock_filter){code, yes, no, value};
}

static void load(struct chatfs_filter *filter, size_t offset) {
    chatfs_filter_add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset);
}

// Both machines are little-endian.
void chatfs_filter_load_argument(struct chatfs_filter *filter, unsigned argument, int high_half) {
    load(filter, offsetof(struct seccomp_data, args) + 8 * argument + (high_half ? 4 : 0));
}

void chatfs_filter_answer(struct chatfs_filter *filter, int error) {
    unsigned answer = error ? SECCOMP_RET_ERRNO | (unsigned)error : SECCOMP_RET_ALLOW;
    chatfs_filter_add(filter, BPF_RET | BPF_K, 0, 0, answer);
}

void chatfs_filter_begin(struct chatfs_filter *filter) {
#ifdef ARCHITECTURE
    load(filter, offsetof(struct seccomp_data, arch));
    chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    chatfs_filter_add(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
#endif
    load(filter, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    // The numbers of the x32 interface.
    chatfs_filter_add(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000);
    chatfs_filter_add(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
#endif
}

static void answer_each(struct chatfs_filter *filter, const int *calls, size_t count, int error) {
    for (size_t i = 0; i < count; i++) {
        chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)calls[i]);
        chatfs_filter_answer(filter, error);
    }
}

void chatfs_filter_allow(struct chatfs_filter *filter, const int *calls, size_t count) {
    answer_each(filter, calls, count, 0);
}

void chatfs_filter_refuse(struct chatfs_filter *filter, const int *calls, size_t count, int error) {
    answer_each(filter, calls, count, error);
}

unsigned short chatfs_filter_open(struct chatfs_filter *filter, int call) {
    chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (unsigned)call);
    return filter->count;
}

void chatfs_filter_close(struct chatfs_filter *filter, unsigned short opened) {
    filter->steps[opened - 1].jf = (unsigned char)(filter->count - opened);
}

void chatfs_filter_allow_values(
    struct chatfs_filter *filter, int call, unsigned argument, const unsigned *values, size_t count, int error) {
    unsigned short opened = chatfs_filter_open(filter, call);
    chatfs_filter_load_argument(filter, argument, 0);
    for (size_t i = 0; i < count; i++) {
        chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, values[i]);
        chatfs_filter_answer(filter, 0);
    }
    chatfs_filter_answer(filter, error);
    chatfs_filter_close(filter, opened);
}

void chatfs_filter_allow_bits(
    struct chatfs_filter *filter, int call, unsigned argument, unsigned needed, unsigned unwanted, int error) {
    unsigned short opened = chatfs_filter_open(filter, call);
    chatfs_filter_load_argument(filter, argument, 0);
    chatfs_filter_add(filter, BPF_ALU | BPF_AND | BPF_K, 0, 0, needed | unwanted);
    chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, needed);
    chatfs_filter_answer(filter, 0);
    chatfs_filter_answer(filter, error);
    chatfs_filter_close(filter, opened);
}

void chatfs_filter_end(struct chatfs_filter *filter, int error) { chatfs_filter_answer(filter, error); }

int chatfs_filter_install(const struct chatfs_filter *filter) {
#ifdef ARCHITECTURE
    if (filter->is_full) {
        errno = E2BIG;
        return -1;
    }
    struct sock_fprog program = {filter->count, (struct sock_filter *)filter->steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
#else
    (void)filter;
    errno = ENOSYS;
    return -1;
#endif
}
