/*
 * Shows the cost of FUSE itself: a read-only filesystem that passes a folder through, with the mount options,
 * timeouts and capabilities of `chatfs mount`. chatfs-bench builds it into a temporary folder as a reference.
 *
 *     cc -O2 passthrough.c -o passthrough $(pkg-config --cflags --libs fuse3)
 *     passthrough SOURCE MOUNTPOINT          stays in the foreground until it is unmounted or told to end
 *
 * Names and attributes come from the real tree each time the kernel asks, and the kernel keeps them for an hour.
 * Bytes come by pread(2) into one buffer for each thread; pages stay between opens (keep_cache).
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { threads = 8, buckets = 1 << 15, largest_read = 1 << 20 };
static const double keep_for = 3600;

/* A name that was looked up. Nodes live as long as the process: a measured tree is small. */
struct node {
    struct node *next;
    struct node *parent;
    char *name;
    char *path;
};

static struct node root;
static struct node *table[buckets];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *node_of(fuse_ino_t number) {
    return number == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)number;
}

static void *must(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

/* The node of a name, always the same one. */
static struct node *child(struct node *parent, const char *name) {
    uint64_t hash = (uintptr_t)parent;
    for (const char *byte = name; *byte != 0; byte++) hash = (hash ^ (unsigned char)*byte) * 0x100000001b3;
    struct node **bucket = &table[(hash ^ hash >> 32) % buckets];
    pthread_mutex_lock(&table_lock);
    struct node *node = *bucket;
    while (node != NULL && (node->parent != parent || strcmp(node->name, name) != 0)) node = node->next;
    if (node == NULL) {
        node = must(malloc(sizeof *node));
        node->parent = parent;
        node->name = must(strdup(name));
        if (asprintf(&node->path, "%s/%s", parent->path, name) < 0) abort();
        node->next = *bucket;
        *bucket = node;
    }
    pthread_mutex_unlock(&table_lock);
    return node;
}

static int describe(struct node *node, struct fuse_entry_param *entry) {
    memset(entry, 0, sizeof *entry);
    if (lstat(node->path, &entry->attr) != 0) return errno;
    entry->ino = (uintptr_t)node;
    entry->generation = 1;
    entry->attr_timeout = entry->entry_timeout = keep_for;
    return 0;
}

static char *thread_buffer(void) {
    static __thread char *buffer;
    if (buffer == NULL && posix_memalign((void **)&buffer, 4096, largest_read) != 0) abort();
    return buffer;
}

static void op_init(void *context, struct fuse_conn_info *connection) {
    (void)context;
    connection->max_background = 4096;
    connection->congestion_threshold = 3072;
    connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    connection->want |= connection->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
    connection->want |= connection->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
    connection->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

static void op_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
    struct fuse_entry_param entry;
    struct node *folder = node_of(parent);
    struct stat status;
    char *path;
    if (asprintf(&path, "%s/%s", folder->path, name) < 0) abort();
    int missing = lstat(path, &status) != 0 ? errno : 0;
    free(path);
    int code = missing != 0 ? missing : describe(child(folder, name), &entry);
    if (code != 0) fuse_reply_err(request, code);
    else fuse_reply_entry(request, &entry);
}

static void op_forget(fuse_req_t request, fuse_ino_t number, uint64_t count) {
    (void)number, (void)count;
    fuse_reply_none(request);
}

static void op_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets) {
    (void)count, (void)forgets;
    fuse_reply_none(request);
}

static void op_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    (void)info;
    struct stat status;
    if (lstat(node_of(number)->path, &status) != 0) fuse_reply_err(request, errno);
    else fuse_reply_attr(request, &status, keep_for);
}

static void op_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    int file = (info->flags & O_ACCMODE) == O_RDONLY ? open(node_of(number)->path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        fuse_reply_err(request, (info->flags & O_ACCMODE) == O_RDONLY ? errno : EROFS);
        return;
    }
    info->fh = (uint64_t)file;
    info->keep_cache = 1;
    if (fuse_reply_open(request, info) != 0) close(file);
}

static void op_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info) {
    (void)number;
    char *buffer = thread_buffer();
    ssize_t count = pread((int)info->fh, buffer, size < largest_read ? size : largest_read, offset);
    if (count < 0) fuse_reply_err(request, errno);
    else fuse_reply_buf(request, buffer, (size_t)count);
}

static void op_flush(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    (void)number, (void)info;
    fuse_reply_err(request, 0);
}

static void op_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    (void)number;
    close((int)info->fh);
    fuse_reply_err(request, 0);
}

/* An open folder. The kernel asks for it piece by piece, in order: seeking each time would read it anew. */
struct listing {
    DIR *folder;
    off_t position;
    struct dirent *left_over;
};

static struct listing *listing_of(struct fuse_file_info *info) {
    return (struct listing *)(uintptr_t)info->fh;
}

static void close_listing(struct listing *listing) {
    closedir(listing->folder);
    free(listing);
}

static void op_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    DIR *folder = opendir(node_of(number)->path);
    if (folder == NULL) {
        fuse_reply_err(request, errno);
        return;
    }
    struct listing *listing = must(calloc(1, sizeof *listing));
    listing->folder = folder;
    info->fh = (uintptr_t)listing;
    info->keep_cache = 1;
    info->cache_readdir = 1;
    if (fuse_reply_open(request, info) != 0) close_listing(listing);
}

static void list(fuse_req_t request, struct node *node, size_t size, off_t offset, struct listing *listing,
                 int plus) {
    char *buffer = thread_buffer();
    size_t filled = 0;
    if (size > largest_read) size = largest_read;
    if (offset != listing->position) {
        seekdir(listing->folder, offset);
        listing->position = offset;
        listing->left_over = NULL;
    }
    for (;;) {
        struct dirent *found = listing->left_over != NULL ? listing->left_over : readdir(listing->folder);
        if (found == NULL) break;
        listing->left_over = found;
        const char *name = found->d_name;
        int is_dot = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        struct fuse_entry_param entry = {
            .attr = {.st_ino = found->d_ino, .st_mode = (mode_t)found->d_type << 12}};
        int is_gone = plus && !is_dot && describe(child(node, name), &entry) != 0;
        if (!is_gone) {
            char *end = buffer + filled;
            size_t room = size - filled;
            size_t length = plus ? fuse_add_direntry_plus(request, end, room, name, &entry, found->d_off)
                                 : fuse_add_direntry(request, end, room, name, &entry.attr, found->d_off);
            if (length > room) break;
            filled += length;
        }
        listing->left_over = NULL;
        listing->position = found->d_off;
    }
    fuse_reply_buf(request, buffer, filled);
}

static void op_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info) {
    list(request, node_of(number), size, offset, listing_of(info), 0);
}

static void op_readdirplus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                           struct fuse_file_info *info) {
    list(request, node_of(number), size, offset, listing_of(info), 1);
}

static void op_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    (void)number;
    close_listing(listing_of(info));
    fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops operations = {
    .init = op_init, .lookup = op_lookup, .forget = op_forget, .forget_multi = op_forget_multi,
    .getattr = op_getattr, .open = op_open, .read = op_read, .flush = op_flush, .release = op_release,
    .opendir = op_opendir, .readdir = op_readdir, .readdirplus = op_readdirplus, .releasedir = op_releasedir,
};

int main(int count, char **words) {
    if (count != 3 || (root.path = realpath(words[1], NULL)) == NULL) {
        fprintf(stderr, "usage: passthrough SOURCE MOUNTPOINT\n");
        return 64;
    }
    char *settings[] = {"passthrough", "-o", "fsname=passthrough,subtype=passthrough,nosuid,nodev,noexec", NULL};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, settings);
    struct fuse_session *session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
    if (session == NULL || fuse_set_signal_handlers(session) != 0) return 1;
    if (fuse_session_mount(session, words[2]) != 0) return 1;
    struct fuse_loop_config *loop = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(loop, threads);
    fuse_loop_cfg_set_idle_threads(loop, threads);
    fuse_session_loop_mt(session, loop);
    fuse_loop_cfg_destroy(loop);
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
    return 0;
}
