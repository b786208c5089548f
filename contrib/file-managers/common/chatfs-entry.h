/* The entries of a ChatFS mount for file managers in C and C++. The tables are generated from chatfs_entries.py. */
#ifndef CHATFS_ENTRY_H
#define CHATFS_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of the folder of a chat. */
#define CHATFS_CHAT_STATE "chat"

typedef struct {
    const char *name, *label, *icon;
    /* Each with a space on both sides; empty: any. */
    const char *states;
    const char *needs;
    /* The question before the action; may be empty. */
    const char *question;
} ChatfsAction;

typedef struct {
    const char *states, *icon;
} ChatfsEmblem;

/* An entry by its extended attributes; all zero without an entry. */
typedef struct {
    char state[24];
    bool is_sent, is_received, has_problem, has_relays, may_resend, is_pinned;
    /* The possible actions of a chat, or "free" of a file, each with a space on both sides. */
    char actions[128];
    /* A relay that awaits approval is in the user's own network. */
    bool has_inner_relay;
    /* Of the heap, or NULL. */
    char *link;
    /* The addresses of relays that await approval, each with a newline after it. Of the heap, or NULL. */
    char *relays;
} ChatfsEntry;

/* Any of the texts may be NULL. */
void chatfs_entry_init(ChatfsEntry *entry, const char *state, const char *direction, const char *error,
                       const char *link, const char *pinned, const char *actions);
/* Reads the extended attributes; the folder of a chat has the state "chat". Waits for the mount, so never in a main loop. */
void chatfs_entry_read(ChatfsEntry *entry, const char *path);
void chatfs_entry_clear(ChatfsEntry *entry);

/* The actions, then NULL. */
const ChatfsAction *chatfs_action(size_t index);
bool chatfs_entry_allows(const ChatfsEntry *entry, const ChatfsAction *action);
/* The question before the action on these entries. Names the hosts of relays. Allocated on the heap. */
char *chatfs_question(const ChatfsAction *action, const ChatfsEntry *const *entries, size_t count);
/* The name of an icon, never freed; NULL for an entry without one. */
const char *chatfs_entry_emblem(const ChatfsEntry *entry);

/* The number and the mountpoint of the mount of ChatFS there or above, with a space between, by the kernel's table; until
   the next call; NULL without one. The kernel gives no number twice while a thread waits for its mount, so a later mount
   at the same place is another one. Touches no mount; one thread only. */
const char *chatfs_mount(const char *path);
/* The same by the text of a mountinfo, which it replaces. */
const char *chatfs_mount_by(char *mountinfo, const char *path);

#ifdef __cplusplus
}
#endif
#endif
