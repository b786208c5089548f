#pragma once

#include <QApplication>
#include <QFile>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <functional>

/// Runs chatfs-file-action, which contacts the mount.
namespace ActionProcess {

/// Its message.
struct Outcome {
    bool isDone = false;
    QString text;
    /// A further action for the same paths, and the label of its button; empty without one.
    QString action, label;
};

/// The number of visible characters of a text.
constexpr int shown = 4000;

/// The first line may be "button", an action and a label, with tabs between.
inline Outcome outcome(bool isDone, QString said, const QString &problems) {
    Outcome result;
    result.isDone = isDone;
    if (said.startsWith(QLatin1String("button\t"))) {
        const QStringList words = said.section(QLatin1Char('\n'), 0, 0).split(QLatin1Char('\t'));
        if (words.size() == 3) {
            result.action = words[1];
            result.label = words[2];
        }
        said = said.section(QLatin1Char('\n'), 1);
    }
    result.text = (isDone ? said : problems).left(shown).trimmed();
    if (!isDone && result.text.isEmpty()) result.text = QStringLiteral("It did not work.");
    return result;
}

/// Text for a label of Qt, which takes text with tags for markup: names of chats and relays come from other people.
inline QString plainLabel(const QString &text) {
    return QStringLiteral("<qt>%1</qt>").arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
}

/// Calls `ended` once, from the main loop. The process belongs to the application, because the caller may be gone before its end.
inline void start(const QString &action, const QStringList &paths, const QString &text,
                  const std::function<void(const Outcome &)> &ended) {
    auto process = new QProcess(qApp);
    QObject::connect(process, &QProcess::errorOccurred, process, [process, ended](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        process->deleteLater();
        ended(outcome(false, QString(), process->errorString()));
    });
    QObject::connect(process, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), process,
                     [process, ended](int code, QProcess::ExitStatus status) {
                         process->deleteLater();
                         ended(outcome(code == 0 && status == QProcess::NormalExit,
                                       QString::fromUtf8(process->readAllStandardOutput()),
                                       QString::fromUtf8(process->readAllStandardError())));
                     });
    process->start(QStringLiteral("chatfs-file-action"), {action});
    for (const QString &path : paths) process->write(QFile::encodeName(path).append('\0'));
    if (!text.isEmpty()) process->write(text.toUtf8().prepend('\0'));
    process->closeWriteChannel();
}

} // namespace ActionProcess
