// Marks the entries of ChatFS mounts in Dolphin and other file views of KDE.

#include <KDirNotify>
#include <KOverlayIconPlugin>
#include <kio_version.h>

#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QMutex>
#include <QSocketNotifier>
#include <QUrl>

#include <sys/inotify.h>
#include <unistd.h>

#include "Entry.h"

namespace {
/// The number of remembered files, after which all are dropped.
constexpr int limit = 20000;
} // namespace

class OverlayIcons : public KOverlayIconPlugin {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID "org.kde.overlayicon.chatfs" FILE "chatfs-overlay.json")
public:
    explicit OverlayIcons(QObject *parent = nullptr) : KOverlayIconPlugin(parent) {
        m_reply->target = this;
        if (m_reply->watcher < 0) return;
        const auto notifier = new QSocketNotifier(m_reply->watcher, QSocketNotifier::Read, this);
        connect(notifier, &QSocketNotifier::activated, this, [this] { readChanges(); });
    }

    ~OverlayIcons() override {
        QMutexLocker locker(&m_reply->mutex);
        m_reply->target = nullptr;
    }

    /// Shows the previous icons until the new ones are read.
    QStringList getOverlays(const QUrl &url) override {
        const QString path = url.toLocalFile();
        const QByteArray mount = Entry::mount(path);
        if (mount.isEmpty()) return {};
        read(path);
        return icons(path, mount);
    }

private:
    /// Passes the result to a plugin that may be gone.
    struct Reply {
        QMutex mutex;
        OverlayIcons *target = nullptr;
        /// The inotify(7) instance for the folders of known files, or -1. KDirWatch of KDE Frameworks 6 takes mounts for
        /// slow: it looks at them every five seconds, and not at attributes.
        const int watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        QHash<int, QString> folders;

        ~Reply() {
            if (watcher >= 0) close(watcher);
        }

        /// Waits for the mount, so never in the main thread. Without IN_DELETE_SELF, by which a mount recognises the
        /// folders that are displayed now (DisplayedFolders).
        void watch(const QString &folder) {
            const int number = inotify_add_watch(watcher, QFile::encodeName(folder).constData(),
                                                 IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR);
            if (number < 0) return;
            QMutexLocker locker(&mutex);
            folders.insert(number, folder);
        }
    };

    struct Known {
        QByteArray mount;
        QStringList icons;
    };

    struct Reading {
        QByteArray mount;
        bool readsAgain = false;
    };

    /// Those of a file that were read last; none of an earlier mount at the same place.
    QStringList icons(const QString &path, const QByteArray &mount) const {
        const Known known = m_known.value(path);
        return known.mount == mount ? known.icons : QStringList();
    }

    /// Waits for a running reading of the same mount, but not for one of an earlier mount, which may never end.
    void read(const QString &path) {
        const QByteArray mount = Entry::mount(path);
        if (mount.isEmpty()) return;
        const auto found = m_reading.find(path);
        if (found != m_reading.end() && found->mount == mount) {
            found->readsAgain = true;
            return;
        }
        m_reading.insert(path, Reading{mount, false});
        const auto reply = m_reply;
        readers(mount).start([reply, path, mount] {
            reply->watch(QFileInfo(path).path());
            const auto entry = std::make_shared<const Entry>(path);
            QMutexLocker locker(&reply->mutex);
            if (const auto target = reply->target)
                QMetaObject::invokeMethod(target,
                                          [target, path, mount, entry] { target->hasRead(path, mount, *entry); },
                                          Qt::QueuedConnection);
        });
    }

    void hasRead(const QString &path, const QByteArray &mount, const Entry &entry) {
        const auto found = m_reading.find(path);
        // From an earlier mount at the same place.
        if (found == m_reading.end() || found->mount != mount) return;
        const bool readsAgain = found->readsAgain;
        m_reading.erase(found);
        const QStringList now = overlays(entry);
        // Those of an earlier mount may still be shown.
        if (icons(path, mount) != now || m_known.value(path).icons != now) {
            if (m_known.size() >= limit) m_known.clear();
            m_known.insert(path, Known{mount, now});
            Q_EMIT overlaysChanged(QUrl::fromLocalFile(path), now);
        }
        if (readsAgain) read(path);
    }

    void readChanges() {
        alignas(inotify_event) char buffer[16384];
        for (;;) {
            const auto count = ::read(m_reply->watcher, buffer, sizeof buffer);
            if (count <= 0) return;
            for (const char *next = buffer; next < buffer + count;) {
                const auto event = reinterpret_cast<const inotify_event *>(next);
                next += sizeof *event + event->len;
                hasChanged(*event);
            }
        }
    }

    void hasChanged(const inotify_event &event) {
        if (event.mask & IN_Q_OVERFLOW) {
            for (const QString &path : m_known.keys()) read(path);
            return;
        }
        QMutexLocker locker(&m_reply->mutex);
        // The folder or its mount is gone.
        if (event.mask & IN_IGNORED) m_reply->folders.remove(event.wd);
        const QString folder = m_reply->folders.value(event.wd);
        locker.unlock();
        if (folder.isEmpty() || event.len == 0) return;
        const QString path = folder + QLatin1Char('/') + QFile::decodeName(event.name);
        if (event.mask & (IN_CREATE | IN_MOVED_TO)) {
            tellLists([&] { org::kde::KDirNotify::emitFilesAdded(QUrl::fromLocalFile(folder)); });
        } else if (event.mask & (IN_DELETE | IN_MOVED_FROM)) {
            m_known.remove(path);
            tellLists([&] { org::kde::KDirNotify::emitFilesRemoved({QUrl::fromLocalFile(path)}); });
        } else if (m_known.contains(path)) {
            read(path);
        }
    }

    /// KDE's lists of folders depend on KDirWatch, which is in time in KDE Frameworks 5.
    template <typename Tell> static void tellLists(Tell tell) {
#if KIO_VERSION >= QT_VERSION_CHECK(6, 0, 0)
        tell();
#else
        Q_UNUSED(tell)
#endif
    }

    static QStringList overlays(const Entry &entry) {
        const char *icon = chatfs_entry_emblem(&entry.attributes);
        return icon ? QStringList{QString::fromLatin1(icon)} : QStringList{};
    }

    const std::shared_ptr<Reply> m_reply = std::make_shared<Reply>();
    QHash<QString, Known> m_known;
    /// The files being read.
    QHash<QString, Reading> m_reading;
};

#include "OverlayIcons.moc"
