// Marks the entries of ChatFS mounts in Dolphin and other file views of KDE.

#include <KDirWatch>
#include <KOverlayIconPlugin>

#include <QHash>
#include <QIcon>
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
        if (!Entry::isMounted(path)) return {};
        read(path);
        return m_known.value(path);
    }

private:
    /// Passes the result to a plugin that may be gone.
    struct Reply {
        QMutex mutex;
        OverlayIcons *target = nullptr;
    };

    void read(const QString &path) {
        const auto found = m_reading.find(path);
        if (found != m_reading.end()) {
            found.value() = true;
            return;
        }
        m_reading.insert(path, false);
        const auto reply = m_reply;
        readers(Entry::mountpoint(path)).start([reply, path] {
            const auto entry = std::make_shared<const Entry>(path);
            QMutexLocker locker(&reply->mutex);
            if (const auto target = reply->target)
                QMetaObject::invokeMethod(target, [target, path, entry] { target->hasRead(path, *entry); },
                                          Qt::QueuedConnection);
        });
    }

    void hasRead(const QString &path, const Entry &entry) {
        const bool readsAgain = m_reading.take(path);
        const QStringList icons = overlays(entry);
        if (m_known.value(path) != icons) {
            if (m_known.size() >= limit) m_known.clear();
            m_known.insert(path, icons);
            Q_EMIT overlaysChanged(QUrl::fromLocalFile(path), icons);
        }
        if (readsAgain) read(path);
    }

    /// The first icon that the theme has.
    static QStringList overlays(const Entry &entry) {
        for (auto icon = chatfs_entry_emblems(&entry.attributes); icon && *icon; ++icon) {
            const QString name = QString::fromLatin1(*icon);
            if (QIcon::hasThemeIcon(name)) return {name};
        }
        return {};
    }

    const std::shared_ptr<Reply> m_reply = std::make_shared<Reply>();
    QHash<QString, QStringList> m_known;
    /// The files being read; true for another read afterwards.
    QHash<QString, bool> m_reading;
};

#include "OverlayIcons.moc"
