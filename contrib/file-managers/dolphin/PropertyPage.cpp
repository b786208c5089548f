// The facts about an entry of a ChatFS mount as a page of KDE's properties dialog.

#include <KFileItem>
#include <KPluginFactory>
#include <KPropertiesDialog>
// A header of its own in KDE Frameworks 6.
#if __has_include(<KPropertiesDialogPlugin>)
#include <KPropertiesDialogPlugin>
#endif

#include <QFormLayout>
#include <QLabel>
#include <QPointer>
#include <QWidget>

#include "ActionProcess.h"
#include "Entry.h"

class PropertyPage : public KPropertiesDialogPlugin {
    Q_OBJECT
public:
    PropertyPage(QObject *parent, const QVariantList &)
        : KPropertiesDialogPlugin(qobject_cast<KPropertiesDialog *>(parent)) {
        const auto dialog = qobject_cast<KPropertiesDialog *>(parent);
        if (!dialog || dialog->items().size() != 1) return;
        const QString path = dialog->item().localPath();
        if (dialog->item().isDir() || !Entry::isMounted(path)) return;
        QPointer<QWidget> page(new QWidget(dialog));
        const auto rows = new QFormLayout(page);
        dialog->addPage(page, QStringLiteral("Chat"));
        ActionProcess::start(QStringLiteral("describe"), {path}, QString(),
                             [page, rows](const ActionProcess::Outcome &outcome) {
                                 if (page) fill(rows, outcome.text);
                             });
    }

private:
    /// Lines of a label and its text with a tab between; a line that begins with a tab continues the text.
    static void fill(QFormLayout *rows, const QString &text) {
        QLabel *last = nullptr;
        for (const QString &line : text.split(QLatin1Char('\n'))) {
            const QString value = line.section(QLatin1Char('\t'), 1);
            if (line.startsWith(QLatin1Char('\t')) && last) {
                last->setText(last->text() + QLatin1Char('\n') + value);
                continue;
            }
            last = new QLabel(value);
            last->setTextFormat(Qt::PlainText);
            last->setWordWrap(true);
            last->setTextInteractionFlags(Qt::TextSelectableByMouse);
            rows->addRow(line.section(QLatin1Char('\t'), 0, 0) + QLatin1Char(':'), last);
        }
    }
};

K_PLUGIN_CLASS_WITH_JSON(PropertyPage, "chatfs-properties.json")

#include "PropertyPage.moc"
