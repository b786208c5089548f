#pragma once

#include <QFile>
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

    /// Whether the path is in a mount. Main thread; never waits.
    static bool isMounted(const QString &path) {
        return !path.isEmpty() && chatfs_is_mounted(QFile::encodeName(path).constData());
    }

private:
    static ChatfsEntry read(const QString &path) {
        ChatfsEntry entry;
        chatfs_entry_read(&entry, QFile::encodeName(path).constData());
        return entry;
    }
};
using EntryPointer = std::shared_ptr<const Entry>;

/// One thread of each plugin on which entries are read. Never destroyed: that would wait for a mount that does not answer.
static inline QThreadPool &readers() {
    static const auto pool = [] {
        auto made = new QThreadPool;
        made->setMaxThreadCount(1);
        return made;
    }();
    return *pool;
}
