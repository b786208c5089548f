// Marks the entries of ChatFS mounts in Dolphin and other file views of KDE.

#include <KDirWatch>
#include <KOverlayIconPlugin>

#include <QHash>
#include <QMutex>
#include <QUrl>

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
        // Watched by KDE's lists of folders, which request icons again only after a change of size or time.
        connect(KDirWatch::self(), &KDirWatch::dirty, this, [this](const QString &path) {
            if (m_known.contains(path)) read(path);
        });
        connect(KDirWatch::self(), &KDirWatch::deleted, this, [this](const QString &path) { m_known.remove(path); });
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
