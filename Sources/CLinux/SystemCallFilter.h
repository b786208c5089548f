// Puts together a filter of system calls (seccomp(2)) in classic BPF. Only memory of the caller.
#pragma once

#include <linux/filter.h>
#include <stddef.h>

struct chatfs_filter {
    struct sock_filter steps[512];
    unsigned short count;
    // More steps were wanted than there is room for.
    int is_full;
};

// Ends the process at calls of another kind of machine code, whose numbers mean other calls.
void chatfs_filter_begin(struct chatfs_filter *filter);
void chatfs_filter_allow(struct chatfs_filter *filter, const int *calls, size_t count);
void chatfs_filter_refuse(struct chatfs_filter *filter, const int *calls, size_t count, int error);
// Allowed with one of these values of an argument, refused with the error otherwise. Arguments here are what
// the kernel takes as 32 bits.
void chatfs_filter_allow_values(
    struct chatfs_filter *filter, int call, unsigned argument, const unsigned *values, size_t count, int error);
// Allowed with all bits of `needed` and none of `unwanted` in an argument.
void chatfs_filter_allow_bits(
    struct chatfs_filter *filter, int call, unsigned argument, unsigned needed, unsigned unwanted, int error);
// What was not mentioned is refused with the error; 0: allowed.
void chatfs_filter_end(struct chatfs_filter *filter, int error);
// Sets it for good, for this thread and those that it makes. Gives up the right to new privileges first. 0, or -1 with errno; ENOSYS on machines whose calls have not been listed here.
int chatfs_filter_install(const struct chatfs_filter *filter);

// For more than one argument at a time.
void chatfs_filter_add(
    struct chatfs_filter *filter, unsigned short code, unsigned char yes, unsigned char no, unsigned value);
void chatfs_filter_load_argument(struct chatfs_filter *filter, unsigned argument, int high_half);
void chatfs_filter_answer(struct chatfs_filter *filter, int error);
// Steps for one call: what is added between the two is passed over by the others, and must end in an answer.
unsigned short chatfs_filter_open(struct chatfs_filter *filter, int call);
void chatfs_filter_close(struct chatfs_filter *filter, unsigned short opened);
