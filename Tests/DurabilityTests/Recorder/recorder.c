// Records a program's operations on the files below a folder as a trace. Loaded before the C library (LD_PRELOAD), it
// intercepts the system calls of the program and its libraries (SQLite).
//
//   CHATFS_TRACE       the file to which all processes append records
//   CHATFS_TRACE_ROOT  the folder, absolute, without symbolic links and final slash
//
// A record, little-endian: u32 total length, u8 kind (`enum kind`, the numbers of `DiskOperation`), 3 bytes 0, u64
// inode, i64 offset, i64 size. The written bytes follow, or one or two paths below the root, each ended by NUL.
// A lock keeps the records of a process in the order of its calls; the processes' own locks order them between
// processes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
    WRITE = 1, TRUNCATE, CREATE, UNNAMED, FOLDER, LINK, RENAME, UNLINK, REMOVE_FOLDER, SYNC_FILE, SYNC_FOLDER, SYNC_ALL,
    ZERO, EXTEND,
};

struct header {
    uint32_t length;
    uint8_t kind;
    uint8_t none[3];
    uint64_t inode;
    int64_t offset, size;
};

static int trace = -1;
static char root[PATH_MAX];
static size_t root_length;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;

#define REAL(name) ((typeof(&name))real(#name))

static void *real(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CHATFS_TRACE"), *folder = getenv("CHATFS_TRACE_ROOT");
    if (!path || !folder || strlen(folder) >= sizeof root) return;
    strcpy(root, folder);
    root_length = strlen(root);
    int file = REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    trace = fcntl(file, F_DUPFD_CLOEXEC, 700);
    close(file);
    owner = getpid();
}

// Between fork and exec another thread's lock may be held for ever; nothing of ours is written there.
static int is_recording(void) { return trace >= 0 && getpid() == owner; }

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

static void append(enum kind kind, uint64_t inode, int64_t offset, int64_t size, const struct iovec *parts, int count) {
    struct iovec all[2 + 8];
    struct header header = {sizeof header, kind, {0}, inode, offset, size};
    all[0] = (struct iovec){&header, sizeof header};
    for (int i = 0; i < count; i++) {
        all[i + 1] = parts[i];
        header.length += parts[i].iov_len;
    }
    // One call, so that records of several processes do not mix (O_APPEND).
    if (REAL(writev)(trace, all, count + 1) != (ssize_t)header.length) abort();
}

// The part of an absolute path below the root; NULL when it is elsewhere. "" for the root itself.
static const char *below(const char *path) {
    if (strncmp(path, root, root_length)) return NULL;
    if (!path[root_length]) return path + root_length;
    return path[root_length] == '/' ? path + root_length + 1 : NULL;
}

// Absolute path of a name in a folder.
static int absolute(char *result, int folder, const char *name) {
    if (name[0] == '/') return snprintf(result, PATH_MAX, "%s", name) < PATH_MAX;
    if (folder == AT_FDCWD) {
        if (!getcwd(result, PATH_MAX)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, result, PATH_MAX - 1);
        if (length < 0) return 0;
        result[length] = 0;
    }
    size_t length = strlen(result);
    return snprintf(result + length, PATH_MAX - length, "/%s", name) < (int)(PATH_MAX - length);
}

// Whether a descriptor stands for a file or folder below the root, and which.
static int is_below(int descriptor, struct stat *status, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path) && fstat(descriptor, status) == 0;
}

static void append_paths(enum kind kind, uint64_t inode, const char *first, const char *second) {
    struct iovec parts[2] = {{(void *)first, strlen(first) + 1}, {(void *)second, second ? strlen(second) + 1 : 0}};
    append(kind, inode, 0, 0, parts, second ? 2 : 1);
}

// A file that is recorded. Asked before the lock is taken: a write to anything else may wait for another thread's.
static int is_recorded(int descriptor, uint64_t *inode) {
    char path[PATH_MAX];
    struct stat status;
    int code = errno;
    int is = is_recording() && is_below(descriptor, &status, path) && S_ISREG(status.st_mode);
    if (is) *inode = status.st_ino;
    errno = code;
    return is;
}

// The boot id of the recorded programs. Recovery runs in the machine's real boot, as after a power cut.
static int open_boot_id(void) {
    static const char id[] = "00000000-0000-4000-8000-000000000000\n";
    int file = memfd_create("boot_id", MFD_CLOEXEC);
    if (file >= 0 && (REAL(write)(file, id, sizeof id - 1) != sizeof id - 1 || lseek(file, 0, SEEK_SET))) abort();
    return file;
}

// Files that come into being, or lose their bytes, by being opened.
static int open_recorded(int folder, const char *name, int flags, mode_t mode) {
    if (is_recording() && !strcmp(name, "/proc/sys/kernel/random/boot_id")) return open_boot_id();
    if (!is_recording() || !(flags & (O_CREAT | O_TRUNC | O_TMPFILE)))
        return REAL(openat)(folder, name, flags, mode);
    char path[PATH_MAX];
    lock();
    int known = absolute(path, folder, name);
    struct stat status;
    int was_there = fstatat(folder, name, &status, 0) == 0;
    int descriptor = REAL(openat)(folder, name, flags, mode);
    int code = errno;
    if (descriptor >= 0 && known && below(path) && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        if ((flags & O_TMPFILE) == O_TMPFILE)
            append(UNNAMED, status.st_ino, 0, 0, NULL, 0);
        else if (!was_there)
            append_paths(CREATE, status.st_ino, below(path), NULL);
        else if (flags & O_TRUNC)
            append(TRUNCATE, status.st_ino, 0, 0, NULL, 0);
    }
    unlock();
    errno = code;
    return descriptor;
}

#define MODE_OF(flags)                                                                                                 \
    mode_t mode = 0;                                                                                                   \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) {                                                                         \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                              \
        va_end(arguments);                                                                                             \
    }

int open(const char *name, int flags, ...) { MODE_OF(flags) return open_recorded(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE_OF(flags) return open_recorded(AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE_OF(flags) return open_recorded(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE_OF(flags) return open_recorded(folder, name, flags, mode); }

// At `offset`; -1: where the descriptor stands.
static ssize_t write_recorded(int file, const struct iovec *parts, int count, off_t offset) {
    uint64_t inode;
    if (count > 8 || !is_recorded(file, &inode))
        return offset < 0 ? REAL(writev)(file, parts, count) : REAL(pwritev)(file, parts, count, offset);
    lock();
    off_t place = offset < 0 ? lseek(file, 0, SEEK_CUR) : offset;
    ssize_t written = offset < 0 ? REAL(writev)(file, parts, count) : REAL(pwritev)(file, parts, count, offset);
    if (written > 0 && place >= 0) {
        if (offset < 0) place = lseek(file, 0, SEEK_CUR) - written;
        struct iovec done[8];
        ssize_t left = written;
        int used = 0;
        for (; used < count && left > 0; used++) {
            done[used] = parts[used];
            if ((ssize_t)done[used].iov_len > left) done[used].iov_len = left;
            left -= done[used].iov_len;
        }
        append(WRITE, inode, place, written, done, used);
    }
    unlock();
    return written;
}

ssize_t write(int file, const void *bytes, size_t count) {
    struct iovec part = {(void *)bytes, count};
    return write_recorded(file, &part, 1, -1);
}
ssize_t writev(int file, const struct iovec *parts, int count) { return write_recorded(file, parts, count, -1); }
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    struct iovec part = {(void *)bytes, count};
    return write_recorded(file, &part, 1, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) { return pwrite(file, bytes, count, offset); }
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) { return write_recorded(file, parts, count, offset); }
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) { return write_recorded(file, parts, count, offset); }

// Runs CALL with the lock held, and records it if it succeeded.
#define RECORDED(type, is_wanted, call, record)                                                                        \
    if (!(is_wanted)) return call;                                                                                     \
    lock();                                                                                                            \
    type result = call;                                                                                                \
    if (result == 0) { record; }                                                                                       \
    unlock();                                                                                                          \
    return result;

int ftruncate(int file, off_t size) {
    uint64_t inode;
    RECORDED(int, is_recorded(file, &inode), REAL(ftruncate)(file, size), append(TRUNCATE, inode, 0, size, NULL, 0))
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

static void allocated(uint64_t inode, int mode, off_t offset, off_t length) {
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) append(ZERO, inode, offset, length, NULL, 0);
    else if (!(mode & FALLOC_FL_KEEP_SIZE)) append(EXTEND, inode, 0, offset + length, NULL, 0);
}
int fallocate(int file, int mode, off_t offset, off_t length) {
    uint64_t inode;
    RECORDED(
        int, is_recorded(file, &inode), REAL(fallocate)(file, mode, offset, length),
        allocated(inode, mode, offset, length))
}
int fallocate64(int file, int mode, off64_t offset, off64_t length) { return fallocate(file, mode, offset, length); }
int posix_fallocate(int file, off_t offset, off_t length) {
    uint64_t inode;
    RECORDED(
        int, is_recorded(file, &inode), REAL(posix_fallocate)(file, offset, length),
        allocated(inode, 0, offset, length))
}
int posix_fallocate64(int file, off64_t offset, off64_t length) { return posix_fallocate(file, offset, length); }

static void synchronised(int file) {
    char path[PATH_MAX];
    struct stat status;
    if (!is_below(file, &status, path)) return;
    if (S_ISDIR(status.st_mode)) append_paths(SYNC_FOLDER, status.st_ino, below(path), NULL);
    else append(SYNC_FILE, status.st_ino, 0, 0, NULL, 0);
}
int fsync(int file) { RECORDED(int, is_recording(), REAL(fsync)(file), synchronised(file)) }
int fdatasync(int file) { RECORDED(int, is_recording(), REAL(fdatasync)(file), synchronised(file)) }
int syncfs(int file) { RECORDED(int, is_recording(), REAL(syncfs)(file), append(SYNC_ALL, 0, 0, 0, NULL, 0)) }

static void named(enum kind kind, int folder, const char *name) {
    char path[PATH_MAX];
    struct stat status;
    uint64_t inode = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
    if (absolute(path, folder, name) && below(path)) append_paths(kind, inode, below(path), NULL);
}
int mkdirat(int folder, const char *name, mode_t mode) { RECORDED(int, is_recording(), REAL(mkdirat)(folder, name, mode), named(FOLDER, folder, name)) }
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }
int linkat(int from, const char *old, int to, const char *name, int flags) {
    RECORDED(int, is_recording(), REAL(linkat)(from, old, to, name, flags), named(LINK, to, name))
}
int link(const char *old, const char *name) { return linkat(AT_FDCWD, old, AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) {
    RECORDED(int, is_recording(), REAL(unlinkat)(folder, name, flags), named(flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK, folder, name))
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
    int result = unlinkat(AT_FDCWD, name, 0);
    return result && (errno == EISDIR || errno == EPERM) ? unlinkat(AT_FDCWD, name, AT_REMOVEDIR) : result;
}

static void renamed(int from, const char *old, int to, const char *name) {
    char source[PATH_MAX], target[PATH_MAX];
    if (!absolute(source, from, old) || !absolute(target, to, name)) return;
    // Across the border of the folder nothing is renamed here.
    if (below(source) && below(target)) append_paths(RENAME, 0, below(source), below(target));
}
int renameat2(int from, const char *old, int to, const char *name, unsigned flags) {
    RECORDED(int, is_recording(), REAL(renameat2)(from, old, to, name, flags), renamed(from, old, to, name))
}
int renameat(int from, const char *old, int to, const char *name) { return renameat2(from, old, to, name, 0); }
int rename(const char *old, const char *name) { return renameat2(AT_FDCWD, old, AT_FDCWD, name, 0); }
