// The context menu of the entries of ChatFS mounts in Dolphin and other file views of KDE.

#include <KAbstractFileItemActionPlugin>
#include <KFileItemListProperties>
#include <KMessageBox>
#include <KPluginFactory>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QIcon>
#include <QPointer>
#include <QProcess>
#include <QSemaphore>
#include <QUrl>
#include <QVector>
#include <QWidget>

#include "Entry.h"

namespace {
const auto program = QStringLiteral("chatfs-file-action");
/// Characters of a problem that are shown.
constexpr int shown = 4000;
/// Milliseconds that the menu may come later: a mount answers from memory. One that does not gets no menu.
constexpr int timeout = 100;
/// More are not looked at.
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
        if (entries.isEmpty()) return {};
        QList<QAction *> items;
        for (size_t index = 0; const auto action = chatfs_action(index); ++index) {
            QStringList chosen, links;
            QVector<const ChatfsEntry *> concerned;
            for (int place = 0; place < paths.size(); ++place) {
                if (!chatfs_entry_allows(&entries[place]->attributes, action)) continue;
                chosen.append(paths[place]);
                concerned.append(&entries[place]->attributes);
                links.append(QString::fromUtf8(entries[place]->attributes.link));
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
        QList<EntryPointer> entries;
        QSemaphore isRead;
    };

    /// Of all paths, or nothing: where one is no entry, or the mount does not answer in time.
    static QList<EntryPointer> read(const QStringList &paths) {
        // The one before has not been answered yet.
        if (readers().activeThreadCount() > 0) return {};
        const auto selection = std::make_shared<Selection>();
        readers().start([selection, paths] {
            for (const QString &path : paths) selection->entries.append(std::make_shared<const Entry>(path));
            selection->isRead.release();
        });
        if (!selection->isRead.tryAcquire(1, timeout)) return {};
        for (const auto &entry : selection->entries)
            if (!*entry->attributes.state) return {};
        return selection->entries;
    }

    /// Empty where nothing is asked.
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
        if (!question.isEmpty()
            && KMessageBox::warningContinueCancel(window, question, title)
                != KMessageBox::Continue)
            return;
        run(QString::fromLatin1(action->name), paths);
    }

    void run(const QString &action, const QStringList &paths) {
        // Of the application: the menu, and this plugin with it, may be gone before it ends.
        auto process = new QProcess(qApp);
        process->setStandardOutputFile(QProcess::nullDevice());
        connect(process, &QProcess::errorOccurred, process, [process](QProcess::ProcessError error) {
            if (error == QProcess::FailedToStart) tell(process, process->errorString());
        });
        connect(process, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), process,
                [process](int code, QProcess::ExitStatus status) {
                    if (code == 0 && status == QProcess::NormalExit) return process->deleteLater();
                    const auto text = QString::fromUtf8(process->readAllStandardError().left(shown)).trimmed();
                    tell(process, text.isEmpty() ? QStringLiteral("It did not work.") : text);
                });
        process->start(program, {action});
        for (const QString &path : paths) process->write(QFile::encodeName(path).append('\0'));
        process->closeWriteChannel();
    }

    static void tell(QProcess *process, const QString &sentence) {
        process->deleteLater();
        // Not modal: a context menu elsewhere goes on.
        QMetaObject::invokeMethod(
            qApp, [sentence] { KMessageBox::error(QApplication::activeWindow(), sentence, QStringLiteral("ChatFS")); },
            Qt::QueuedConnection);
    }
};

K_PLUGIN_CLASS_WITH_JSON(FileActions, "chatfs-actions.json")

#include "FileActions.moc"
