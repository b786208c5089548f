// Builds a filter of system calls (seccomp(2)) in classic BPF. Uses only the caller's memory.
#pragma once

#include <linux/filter.h>
#include <stddef.h>

struct chatfs_filter {
    struct sock_filter steps[512];
    unsigned short count;
    // More steps were added than fit.
    int is_full;
};

// Ends the process at calls of another machine code, whose numbers mean other calls.
void chatfs_filter_begin(struct chatfs_filter *filter);
void chatfs_filter_allow(struct chatfs_filter *filter, const int *calls, size_t count);
void chatfs_filter_refuse(struct chatfs_filter *filter, const int *calls, size_t count, int error);
// Allows the call with one of these values of an argument, and fails it with the error otherwise. For arguments that
// the kernel reads as 32 bits.
void chatfs_filter_allow_values(
    struct chatfs_filter *filter, int call, unsigned argument, const unsigned *values, size_t count, int error);
// Allows the call with all bits of `needed` and none of `unwanted` in an argument.
void chatfs_filter_allow_bits(
    struct chatfs_filter *filter, int call, unsigned argument, unsigned needed, unsigned unwanted, int error);
// Fails other calls with the error; 0 allows them.
void chatfs_filter_end(struct chatfs_filter *filter, int error);
// Installs the filter permanently for this thread and its later children, after giving up new privileges. Returns 0, or
// -1 with errno; ENOSYS on unsupported machines.
int chatfs_filter_install(const struct chatfs_filter *filter);

// For several arguments at a time.
void chatfs_filter_add(
    struct chatfs_filter *filter, unsigned short code, unsigned char yes, unsigned char no, unsigned value);
void chatfs_filter_load_argument(struct chatfs_filter *filter, unsigned argument, int high_half);
void chatfs_filter_answer(struct chatfs_filter *filter, int error);
// Begins and ends the steps for one call. Other calls skip the steps between, which must end in an answer.
unsigned short chatfs_filter_open(struct chatfs_filter *filter, int call);
void chatfs_filter_close(struct chatfs_filter *filter, unsigned short opened);
