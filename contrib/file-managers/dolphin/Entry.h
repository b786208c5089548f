#pragma once

#include <QByteArray>
#include <QFile>
#include <QHash>
#include <QString>
#include <QThreadPool>

#include <cstdlib>
#include <memory>

#include "chatfs-entry.h"

/// An immutable snapshot of an entry's attributes.
struct Entry {
    const ChatfsEntry attributes;

    /// Waits for the mount.
    explicit Entry(const QString &path) : attributes(read(path)) {}
    Entry(const Entry &) = delete;
    Entry &operator=(const Entry &) = delete;
    ~Entry() {
        ChatfsEntry last = attributes;
        chatfs_entry_clear(&last);
    }

    /// The mount that holds the path, which no later mount at its place equals; empty without one. Main thread; never
    /// waits.
    static QByteArray mount(const QString &path) {
        return path.isEmpty() ? QByteArray() : QByteArray(chatfs_mount(QFile::encodeName(path).constData()));
    }

    static bool isMounted(const QString &path) { return !mount(path).isEmpty(); }

private:
    static ChatfsEntry read(const QString &path) {
        ChatfsEntry entry;
        chatfs_entry_read(&entry, QFile::encodeName(path).constData());
        return entry;
    }
};
using EntryPointer = std::shared_ptr<const Entry>;

/// One thread of each plugin for each mount on which entries are read, so that a mount that does not answer delays no
/// other. Main thread. Never destroyed: that would wait for such a mount.
static inline QThreadPool &readers(const QByteArray &mount) {
    static auto &pools = *new QHash<QByteArray, QThreadPool *>;
    auto &pool = pools[mount];
    if (!pool) {
        pool = new QThreadPool;
        pool->setMaxThreadCount(1);
    }
    return *pool;
}
