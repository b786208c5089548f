#define _GNU_SOURCE
#include "chatfs-entry.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "chatfs-tables.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool contains(const char *text, const char *part) {
    return text && strstr(text, part);
}

/* The addresses in the sentence, each followed by a newline; NULL if there are none. */
static char *relays_in(const char *sentence) {
    char *found = sentence ? calloc(1, strlen(sentence) + 2) : NULL;
    if (!found) return NULL;
    char *end = found;
    for (const char *relay = strstr(sentence, "xftp://"); relay; relay = strstr(relay, "xftp://")) {
        size_t length = strcspn(relay, " \t\r\n,;()");
        memcpy(end, relay, length);
        end[length] = '\n';
        end += length + 1;
        relay += length;
    }
    return found;
}

void chatfs_entry_init(ChatfsEntry *entry, const char *state, const char *direction, const char *error,
                       const char *link, const char *pinned, const char *actions) {
    *entry = (ChatfsEntry){0};
    if (!state || strlen(state) >= sizeof entry->state) return;
    strcpy(entry->state, state);
    if (actions && strlen(actions) + 3 <= sizeof entry->actions)
        snprintf(entry->actions, sizeof entry->actions, " %s ", actions);
    entry->is_sent = direction && !strcmp(direction, "sent");
    entry->is_received = direction && !strcmp(direction, "received");
    entry->has_problem = error && *error;
    entry->has_relays = contains(error, "chatfs approve") && contains(error, "xftp://");
    entry->may_resend = entry->is_sent && (strcmp(state, "draft") || contains(error, "chatfs retry"));
    entry->is_pinned = pinned && *pinned;
    entry->has_inner_relay = entry->has_relays && contains(error, CHATFS_OWN_NETWORK);
    entry->link = link && *link ? strdup(link) : NULL;
    entry->relays = entry->has_relays ? relays_in(error) : NULL;
}

/* NULL if it is missing or too long, which no attribute of a mount is. */
static char *attribute(const char *path, const char *name, size_t limit) {
    char *value = malloc(limit + 1);
    ssize_t length = value ? lgetxattr(path, name, value, limit) : -1;
    if (length < 0 || memchr(value, 0, (size_t)length)) {
        free(value);
        return NULL;
    }
    value[length] = 0;
    return value;
}

void chatfs_entry_read(ChatfsEntry *entry, const char *path) {
    char *state = attribute(path, "user.chatfs.state", 64);
    if (!state) {
        char *chat = attribute(path, "user.chatfs." CHATFS_CHAT_ATTRIBUTE, 64);
        if (chat) state = strdup(CHATFS_CHAT_STATE);
        free(chat);
    }
    char *direction = state ? attribute(path, "user.chatfs.direction", 64) : NULL;
    char *error = state ? attribute(path, "user.chatfs.error", 16384) : NULL;
    char *link = state ? attribute(path, "user.chatfs.link", 65536) : NULL;
    char *pinned = state ? attribute(path, "user.chatfs.pinned", 64) : NULL;
    char *actions = state ? attribute(path, "user.chatfs.actions", sizeof entry->actions - 3) : NULL;
    chatfs_entry_init(entry, state, direction, error, link, pinned, actions);
    free(state);
    free(direction);
    free(error);
    free(link);
    free(pinned);
    free(actions);
}

void chatfs_entry_clear(ChatfsEntry *entry) {
    free(entry->link);
    free(entry->relays);
    *entry = (ChatfsEntry){0};
}

const ChatfsAction *chatfs_action(size_t index) {
    return index < COUNT(chatfs_actions) ? &chatfs_actions[index] : NULL;
}

/* Whether the list, with a space on both sides of each word, has this one. */
static bool is_among(const char *word, const char *words) {
    char padded[32];
    int length = snprintf(padded, sizeof padded, " %s ", word);
    return length > 2 && (size_t)length < sizeof padded && strstr(words, padded);
}

bool chatfs_entry_allows(const ChatfsEntry *entry, const ChatfsAction *action) {
    if (!*entry->state || (*action->states && !is_among(entry->state, action->states))) return false;
    if (!strcmp(action->needs, "relays")) return entry->has_relays;
    if (!strcmp(action->needs, "no-relays")) return !entry->has_relays;
    if (!strcmp(action->needs, "problem")) return entry->has_problem;
    if (!strcmp(action->needs, "freeable")) return entry->is_received && !entry->is_pinned && is_among("free", entry->actions);
    if (!strcmp(action->needs, "pinned")) return entry->is_pinned;
    if (!strcmp(action->needs, "unpinned")) return !entry->has_relays && !entry->is_pinned;
    if (!strcmp(action->needs, "resend")) return entry->may_resend;
    if (!strcmp(action->needs, "link")) return entry->link;
    return !*action->needs || is_among(action->needs, entry->actions);
}

/* Whether the text has this line. */
static bool has_line(const char *text, const char *line, size_t length) {
    for (const char *found = text; *found; found += strcspn(found, "\n") + 1)
        if (strcspn(found, "\n") == length && !strncmp(found, line, length)) return true;
    return false;
}

char *chatfs_question(const ChatfsAction *action, const ChatfsEntry *const *entries, size_t count) {
    bool names_relays = !strcmp(action->needs, "relays"), has_inner_relay = false;
    size_t limit = 0;
    for (size_t index = 0; names_relays && index < count; index++)
        limit += entries[index]->relays ? strlen(entries[index]->relays) : 0;
    char *hosts = calloc(1, limit + 8), *text = NULL, *end = hosts;
    if (!hosts) return NULL;
    int found = 0;
    for (size_t index = 0; names_relays && index < count; index++) {
        has_inner_relay |= entries[index]->has_inner_relay;
        for (const char *relay = entries[index]->relays; relay && *relay; relay += strcspn(relay, "\n") + 1) {
            size_t length = strcspn(relay, "\n");
            const char *at = memchr(relay, '@', length);
            const char *host = at ? at + 1 : relay + length;
            length -= (size_t)(host - relay);
            if (found > CHATFS_MOST_RELAYS || has_line(hosts, host, length)) continue;
            if (found++ < CHATFS_MOST_RELAYS)
                end += sprintf(end, "%.*s\n", (int)length, host);
            else
                end += sprintf(end, "…\n");
        }
    }
    if (end > hosts) end[-1] = 0;
    int length = asprintf(&text, "%s%s%s%s", action->question, names_relays ? "\n\n" : "", hosts,
                          has_inner_relay ? "\n\n" CHATFS_OWN_NETWORK_WARNING : "");
    free(hosts);
    return length < 0 ? NULL : text;
}

const char *chatfs_entry_emblem(const ChatfsEntry *entry) {
    if (!*entry->state) return NULL;
    /* The first of the table is for problems, the second for pinned files. */
    if (entry->has_problem) return chatfs_emblems[0].icon;
    for (size_t index = 0; index < COUNT(chatfs_emblems); index++)
        if ((index != 1 || entry->is_pinned) && is_among(entry->state, chatfs_emblems[index].states)) return chatfs_emblems[index].icon;
    return NULL;
}

/* \ooo, as the kernel writes spaces, tabs, newlines and backslashes. */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' && from[3] >= '0'
            && from[3] <= '7') {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = 0;
}

/* The mountpoint in a line of a mountinfo, or NULL if it is of another type. Modifies the line. */
static char *point_in(char *line) {
    char *type = strstr(line, " - ");
    if (!type || strncmp(type, " - fuse.chatfs ", 15)) return NULL;
    *type = 0;
    /* ID, parent, device, root, mountpoint. */
    char *point = line;
    for (int word = 0; point && word < 4; word++) point = strchr(point, ' ') ? strchr(point, ' ') + 1 : NULL;
    if (!point) return NULL;
    point[strcspn(point, " ")] = 0;
    unescape(point);
    return *point ? point : NULL;
}

static bool holds(const char *point, const char *path) {
    size_t length = strlen(point);
    return !strncmp(path, point, length) && (path[length] == 0 || path[length] == '/');
}

/* The numbers and mountpoints of ChatFS, one after the other with NUL after each, and another NUL. Replaces the text. */
static void keep_mounts(char *mountinfo) {
    char *rest = NULL, *end = mountinfo;
    for (char *line = strtok_r(mountinfo, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *point = point_in(line);
        if (!point) continue;
        /* Both are kept before their old places, with other words between. */
        size_t number = strcspn(line, " ") + 1, length = strlen(point) + 1;
        memmove(end, line, number);
        memmove(end + number, point, length);
        end += number + length;
    }
    *end = 0;
}

static const char *point_of(const char *mount) {
    return strchr(mount, ' ') + 1;
}

/* The one with the longest mountpoint that holds the path, of equal ones the last, which covers the others; or NULL. */
static const char *innermost(const char *mounts, const char *path) {
    const char *found = NULL;
    for (const char *mount = mounts; *mount; mount += strlen(mount) + 1)
        if (holds(point_of(mount), path) && (!found || strlen(point_of(mount)) >= strlen(point_of(found)))) found = mount;
    return found;
}

const char *chatfs_mount_by(char *mountinfo, const char *path) {
    keep_mounts(mountinfo);
    return innermost(mountinfo, path);
}

const char *chatfs_mount(const char *path) {
    static const size_t limit = 1 << 20;
    static int file = -1;
    static char *mounts;
    if (file < 0) file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    struct pollfd changes = {.fd = file, .events = POLLPRI};
    if (!mounts || poll(&changes, 1, 0) > 0) {
        free(mounts);
        mounts = malloc(limit + 1);
        if (!mounts) return NULL;
        size_t length = 0;
        lseek(file, 0, SEEK_SET);
        for (ssize_t count; length < limit && (count = read(file, mounts + length, limit - length)) > 0;)
            length += (size_t)count;
        mounts[length] = 0;
        keep_mounts(mounts);
    }
    return innermost(mounts, path);
}
