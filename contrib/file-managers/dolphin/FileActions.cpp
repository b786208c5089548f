// The context menu of the entries of ChatFS mounts in Dolphin and other file views of KDE.

#include <KAbstractFileItemActionPlugin>
#include <KFileItemListProperties>
#include <KMessageBox>
#include <KPluginFactory>

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHash>
#include <QIcon>
#include <QInputDialog>
#include <QMessageBox>
#include <QPointer>
#include <QPushButton>
#include <QSemaphore>
#include <QUrl>
#include <QVector>
#include <QWidget>

#include <vector>

#include "ActionProcess.h"
#include "Entry.h"

namespace {
/// The maximum delay of the menu in milliseconds. A mount answers from memory; a slower one gets no menu.
constexpr int timeout = 100;
/// The maximum number of entries.
constexpr int most = 2000;
} // namespace

class FileActions : public KAbstractFileItemActionPlugin {
    Q_OBJECT
public:
    FileActions(QObject *parent, const QVariantList &) : KAbstractFileItemActionPlugin(parent) {}

    QList<QAction *> actions(const KFileItemListProperties &selection, QWidget *parent) override {
        QStringList paths;
        for (const QUrl &url : selection.urlList()) paths.append(url.toLocalFile());
        if (paths.isEmpty() || paths.size() > most) return {};
        for (const QString &path : paths)
            if (!Entry::isMounted(path)) return {};
        const auto entries = read(paths);
        if (entries.empty()) return {};
        QList<QAction *> items;
        for (size_t index = 0; const auto action = chatfs_action(index); ++index) {
            QStringList chosen, links;
            QVector<const ChatfsEntry *> concerned;
            for (int place = 0; place < paths.size(); ++place) {
                const ChatfsEntry &entry = entries[static_cast<size_t>(place)]->attributes;
                if (!chatfs_entry_allows(&entry, action)) continue;
                chosen.append(paths[place]);
                concerned.append(&entry);
                links.append(QString::fromUtf8(entry.link));
            }
            if (chosen.isEmpty()) continue;
            auto item = new QAction(QIcon::fromTheme(QString::fromLatin1(action->icon)),
                                    QString::fromUtf8(action->label), this);
            QPointer<QWidget> window(parent);
            const QString question = questionAbout(action, concerned);
            connect(item, &QAction::triggered, this, [this, action, chosen, links, question, window] {
                carryOut(action, chosen, links, question, window);
            });
            items.append(item);
        }
        return items;
    }

private:
    struct Selection {
        std::vector<EntryPointer> entries;
        /// Released once by each mount.
        QSemaphore isRead;
    };

    /// For all paths; none if one is no entry, or a mount does not answer in time.
    static std::vector<EntryPointer> read(const QStringList &paths) {
        QHash<QByteArray, std::vector<size_t>> places;
        for (int place = 0; place < paths.size(); ++place)
            places[Entry::mount(paths[place])].push_back(static_cast<size_t>(place));
        // The previous question is still open.
        for (auto mount = places.cbegin(); mount != places.cend(); ++mount)
            if (readers(mount.key()).activeThreadCount() > 0) return {};
        const auto selection = std::make_shared<Selection>();
        selection->entries.resize(static_cast<size_t>(paths.size()));
        for (auto mount = places.cbegin(); mount != places.cend(); ++mount) {
            readers(mount.key()).start([selection, paths, own = mount.value()] {
                for (const size_t place : own)
                    selection->entries[place] = std::make_shared<const Entry>(paths[static_cast<int>(place)]);
                selection->isRead.release();
            });
        }
        if (!selection->isRead.tryAcquire(static_cast<int>(places.size()), timeout)) return {};
        for (const auto &entry : selection->entries)
            if (!*entry->attributes.state) return {};
        return selection->entries;
    }

    /// Empty without a question.
    static QString questionAbout(const ChatfsAction *action, const QVector<const ChatfsEntry *> &entries) {
        if (!*action->question) return {};
        const std::unique_ptr<char, decltype(&free)> text(
            chatfs_question(action, entries.constData(), static_cast<size_t>(entries.size())), &free);
        return QString::fromUtf8(text.get());
    }

    void carryOut(const ChatfsAction *action, const QStringList &paths, const QStringList &links,
                  const QString &question, QWidget *window) {
        const QString title = QStringLiteral("ChatFS");
        if (!qstrcmp(action->name, "copy-link")) {
            QApplication::clipboard()->setText(links.join(QLatin1Char('\n')));
            return;
        }
        if (!qstrcmp(action->name, "send-text")) {
            bool isWanted = false;
            const QString label = ActionProcess::plainLabel(QStringLiteral("Send a text to %1:").arg(namesOf(paths)));
            const QString text = QInputDialog::getMultiLineText(window, title, label, QString(), &isWanted);
            if (isWanted && !text.trimmed().isEmpty()) run(QString::fromLatin1(action->name), paths, text);
            return;
        }
        if (!question.isEmpty()
            && KMessageBox::warningContinueCancel(window, ActionProcess::plainLabel(question), title)
                != KMessageBox::Continue)
            return;
        run(QString::fromLatin1(action->name), paths);
    }

    /// Shows its message in a window of the application, because the menu and this plugin may be gone before.
    static void run(const QString &action, const QStringList &paths, const QString &text = QString()) {
        ActionProcess::start(action, paths, text, [paths](const ActionProcess::Outcome &outcome) {
            if (outcome.isDone && outcome.text.isEmpty()) return;
            // Not modal: other context menus stay usable.
            QMetaObject::invokeMethod(qApp, [outcome, paths] { tell(outcome, paths); }, Qt::QueuedConnection);
        });
    }

    static void tell(const ActionProcess::Outcome &outcome, const QStringList &paths) {
        auto box = new QMessageBox(outcome.isDone ? QMessageBox::Information : QMessageBox::Warning,
                                   QStringLiteral("ChatFS"), outcome.text, QMessageBox::Close,
                                   QApplication::activeWindow());
        box->setTextFormat(Qt::PlainText);
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->setModal(false);
        if (!outcome.action.isEmpty()) {
            const auto button = box->addButton(outcome.label, QMessageBox::ActionRole);
            QObject::connect(button, &QAbstractButton::clicked, qApp, [outcome, paths] { run(outcome.action, paths); });
        }
        box->show();
    }

    /// Names of the folders, for a title.
    static QString namesOf(const QStringList &paths) {
        QStringList names;
        for (const QString &path : paths) names.append(path.section(QLatin1Char('/'), -1));
        return names.join(QStringLiteral(", "));
    }
};

K_PLUGIN_CLASS_WITH_JSON(FileActions, "chatfs-actions.json")

#include "FileActions.moc"
