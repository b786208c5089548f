#define _GNU_SOURCE
#include "Landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// <linux/landlock.h> is missing or outdated on supported systems. landlock(7).
struct ruleset {
    uint64_t files;
    // Since versions 4 and 6.
    uint64_t network;
    uint64_t scope;
};

struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

enum {
    EXECUTE = 1 << 0,
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    // Everything in version 1.
    FIRST = (1 << 13) - 1,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    CONTROL_DEVICE = 1 << 15,
    BIND_AND_CONNECT = 3,
    SOCKETS_AND_SIGNALS = 3,
};

struct search {
    void (*found)(const char *path, void *context);
    void *context;
};

static int visit(struct dl_phdr_info *library, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    // The program itself has no name here, and the kernel's own mappings have no path.
    if (library->dlpi_name && library->dlpi_name[0] == '/') search->found(library->dlpi_name, search->context);
    return 0;
}

void chatfs_each_library(void (*found)(const char *path, void *context), void *context) {
    struct search search = {found, context};
    dl_iterate_phdr(visit, &search);
}

int chatfs_landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
    return version < 0 ? 0 : (int)version;
}

static int allow(int rules, const char *path) {
    int parent = open(path, O_PATH | O_CLOEXEC);
    // A missing file needs no rule.
    if (parent < 0) return 0;
    struct stat status;
    int result = fstat(parent, &status);
    if (result == 0) {
        struct beneath beneath = {EXECUTE | READ_FILE, parent};
        if (S_ISDIR(status.st_mode)) beneath.allowed |= READ_FOLDER;
        result = (int)syscall(SYS_landlock_add_rule, rules, 1, &beneath, 0U);
    }
    int error = errno;
    close(parent);
    errno = error;
    return result;
}

int chatfs_landlock_to_reading(const char *const *paths) {
    int version = chatfs_landlock_version();
    if (version == 0) return 0;
    struct ruleset ruleset = {.files = FIRST};
    if (version >= 2) ruleset.files |= REFER;
    if (version >= 3) ruleset.files |= TRUNCATE;
    if (version >= 4) ruleset.network = BIND_AND_CONNECT;
    if (version >= 5) ruleset.files |= CONTROL_DEVICE;
    if (version >= 6) ruleset.scope = SOCKETS_AND_SIGNALS;
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0U);
    if (rules < 0) return -1;
    int result = 0;
    for (; *paths && result == 0; paths++) result = allow(rules, *paths);
    if (result == 0) result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (result == 0) result = (int)syscall(SYS_landlock_restrict_self, rules, 0U);
    int error = errno;
    close(rules);
    errno = error;
    return result;
}
