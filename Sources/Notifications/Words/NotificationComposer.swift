import Base
import ChatCore

/// Composes notification texts. Whatever names and captions contain, a text is bounded and reveals no more than its
/// preview setting permits.
struct NotificationComposer: Sendable {
    let preview: NotificationPreview
    /// True if the service interprets markup in bodies.
    let escapesMarkup: Bool

    private static let application = NotificationText.application
    private static let maxName = 120
    private static let maxCaption = 240
    private static let maxSentence = 400
    private static let namedChats = 5

    func text(of group: NotificationGroup) -> NotificationText {
        var text: NotificationText
        switch group.key.subject {
        case .arrival, .text: text = ArrivalWords(preview: preview).text(of: group)
        case .connection: text = connection(group)
        case .request, .invitation: text = request(group)
        case .approval: text = approval(group)
        case .failure: text = failure(group)
        case .expiry: text = expiry(group)
        case .refusal: text = refusal(group.key.refusal)
        case .hold: text = hold(group)
        case .keys: text = keys(group.key.refusal)
        case .stop:
            text = NotificationText(
                summary: "\(Self.application) had stopped", body: sentence(group.key.refusal?.sentence ?? ""),
                category: "device.error")
        }
        text.summary = PlainText.line(text.summary, limit: NotificationText.maxSummary)
        // Lines stay separate; each was made a single line before.
        text.body = PlainText.shortened(text.body, to: NotificationText.maxBody / (escapesMarkup ? 5 : 1))
        if escapesMarkup { text.body = PlainText.escaped(text.body) }
        return text
    }

    static func button(_ action: NotificationAction) -> String {
        switch action {
        case .approve(let relays): relays.count == 1 ? "Approve Relay" : "Approve Relays"
        case .retry: "Try Again"
        case .keep: "Keep"
        case .send: "Send"
        case .discard: "Discard"
        case .open: "Open"
        case .show, .showFolder: "Show in Folder"
        case .accept: "Accept"
        case .reject: "Reject"
        case .markRead: "Mark as Read"
        case .permit(let remedy): remedy.button
        }
    }

    // MARK: - Subjects

    private func connection(_ group: NotificationGroup) -> NotificationText {
        let name = preview == .hidden ? "" : line(group.files.last?.chatName ?? "", limit: Self.maxName)
        guard !name.isEmpty else {
            return NotificationText(
                summary: Self.application, body: "A new contact is connected.", category: "presence.online")
        }
        return NotificationText(
            summary: "\(name) is connected",
            body: "Files copied into the folder \(name) are sent to this contact.",
            category: "presence.online")
    }

    private func request(_ group: NotificationGroup) -> NotificationText {
        let isInvitation = group.key.subject == .invitation
        let names = preview == .hidden ? [] : group.files.map { line($0.sender, limit: Self.maxName) }
        var text = NotificationText(summary: Self.application, body: "", category: "presence")
        if group.count > 1 {
            text.body =
                isInvitation
                ? "\(group.count) contacts invite you into groups"
                : "\(group.count) people ask to be your contacts"
            let named = names.filter { !$0.isEmpty }
            if !named.isEmpty {
                text.body += ": " + listed(named.reversed(), of: group.count, limit: Self.namedChats)
            }
            text.body += ". The window of ChatFS shows all of them, with Accept and Reject."
            return text
        }
        guard let file = group.files.last, let name = names.first else {
            text.body =
                isInvitation ? "A contact invites you into a group." : "A person asks to be your contact."
            return text
        }
        let sender = name.isEmpty ? "A person" : name
        text.summary =
            isInvitation ? "\(sender) invites you into a group" : "\(sender) asks to be your contact"
        guard preview == .message else { return text }
        let words = isInvitation ? file.name : SecretText.hiding(file.caption)
        text.body = line(words, limit: Self.maxCaption)
        return text
    }

    private func approval(_ group: NotificationGroup) -> NotificationText {
        let subject = self.subject(of: group)
        let waits = group.count == 1 ? "waits" : "wait"
        var text = NotificationText(
            summary: title(group), body: "\(subject) \(waits) for your approval", urgency: .normal)
        guard preview != .hidden else {
            text.body += "."
            return text
        }
        let relays = group.relays.prefix(NotificationGroup.maxRelays + 1).map { line($0, limit: 200) }
        if group.sharesRelays, 1...NotificationGroup.maxRelays ~= relays.count {
            text.body +=
                ": receiving would show your network address to \(relays.joined(separator: ", "))."
            if !group.why.isEmpty { text.body += " " + sentence(group.why) }
            text.namesRelays = true
        } else {
            text.body +=
                ": their relays would see your network address. Choose Approve All Relays in the menu of the chat's folder."
        }
        return text
    }

    private func failure(_ group: NotificationGroup) -> NotificationText {
        var body = "\(subject(of: group)) could not be sent."
        if preview != .hidden, !group.why.isEmpty { body += " " + sentence(group.why) }
        if !group.mayRetry { body += " Look into the chat first; Send Again in its menu resends it." }
        return NotificationText(summary: title(group), body: body, category: "transfer.error")
    }

    private func hold(_ group: NotificationGroup) -> NotificationText {
        var body = "\(subject(of: group)) may be unfinished and \(group.count == 1 ? "is" : "are") not sent."
        if preview != .hidden, !group.why.isEmpty { body += " " + sentence(group.why) }
        return NotificationText(summary: title(group), body: body, category: "transfer.error")
    }

    private func expiry(_ group: NotificationGroup) -> NotificationText {
        let expire = group.count == 1 ? "expires" : "expire"
        var body = "\(subject(of: group)) \(expire) on the relay soon"
        if let time = group.expires, preview != .hidden {
            body += group.count == 1 ? ": at \(time.text)" : ", the first at \(time.text)"
        }
        return NotificationText(summary: title(group), body: body + ".")
    }

    private func refusal(_ request: RefusedRequest?) -> NotificationText {
        let sentence = sentence(request?.sentence ?? "")
        var summary = request?.title ?? "\(Self.application) refused this"
        if preview != .hidden, let chat = request?.chatName, !chat.isEmpty {
            summary = "Refused in \(line(chat, limit: Self.maxName))"
        }
        var body = sentence
        if preview == .message, let subject = request?.subject {
            let name = line(subject, limit: Self.maxName)
            if !name.isEmpty { body = "\(name): \(sentence)" }
        }
        if let remedy = request?.remedy { body += " " + remedy.effect }
        var text = NotificationText(summary: summary, body: body)
        if preview != .hidden, let server = request?.server {
            text.body += " " + line(server, limit: 200)
            text.namesRelays = true
        }
        return text
    }

    private func keys(_ warning: RefusedRequest?) -> NotificationText {
        let name = preview == .hidden ? "" : line(warning?.chatName ?? "", limit: Self.maxName)
        return NotificationText(
            summary: name.isEmpty ? Self.application : name, body: sentence(warning?.sentence ?? ""),
            urgency: .normal)
    }

    // MARK: - Parts

    private func title(_ group: NotificationGroup) -> String {
        let name = group.files.last.map { line($0.chatName, limit: Self.maxName) } ?? ""
        return preview == .hidden || group.key.chat == nil || name.isEmpty ? Self.application : name
    }

    /// Returns the subject of a sentence.
    private func subject(of group: NotificationGroup) -> String {
        guard group.count == 1 else { return "\(group.count) files" }
        guard preview == .message, let file = group.files.last else { return "A file" }
        return name(file)
    }

    private func name(_ file: NotifiedFile) -> String {
        let name = line(SafeFileName.make(from: file.name) ?? "", limit: Self.maxName)
        return name.isEmpty ? "A file" : name
    }

    private func listed(_ names: [String], of count: Int, limit: Int) -> String {
        let named = names.prefix(limit)
        let rest = count - named.count
        return named.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private func sentence(_ text: String) -> String {
        CommandText.removed(from: line(text, limit: Self.maxSentence).endingInFullStop)
    }

    private func line(_ text: String, limit: Int) -> String { PlainText.line(text, limit: limit) }
}
