import Base
import ChatCore

/// Makes texts of what happened. Whatever names and captions hold, a text has bounds and says nothing that its preview
/// does not allow.
struct NotificationComposer: Sendable {
    let preview: NotificationPreview
    /// The service reads markup in bodies.
    let escapesMarkup: Bool

    static let application = "ChatFS"
    private static let maxName = 120
    private static let maxCaption = 240
    private static let maxSentence = 400
    private static let namedFiles = 3
    private static let namedChats = 5

    func text(of group: NotificationGroup) -> NotificationText {
        var text: NotificationText
        switch group.key.subject {
        case .arrival: text = arrival(group)
        case .approval: text = approval(group)
        case .failure: text = failure(group)
        case .expiry: text = expiry(group)
        case .refusal: text = refusal(group.key.refusal)
        case .hold: text = hold(group)
        case .keys: text = keys(group.key.refusal)
        }
        text.summary = PlainText.line(text.summary, limit: NotificationText.maxSummary)
        // By lines: each was made one.
        text.body = PlainText.shortened(text.body, to: NotificationText.maxBody / (escapesMarkup ? 5 : 1))
        if escapesMarkup { text.body = PlainText.escaped(text.body) }
        return text
    }

    static func button(_ action: NotificationAction) -> String {
        switch action {
        case .approve(let relays): relays.count == 1 ? "Approve relay" : "Approve relays"
        case .retry: "Try again"
        case .keep: "Keep"
        case .send: "Send"
        case .discard: "Discard"
        }
    }

    // MARK: - Subjects

    private func arrival(_ group: NotificationGroup) -> NotificationText {
        let count = group.count
        if group.key.chat == nil {
            let chats = group.chats.count
            var body = "\(Self.files(count, "new")) in \(chats == 1 ? "a chat" : "\(chats) chats")"
            if preview != .hidden {
                body += ": " + listed(chatNames(of: group), of: chats, limit: Self.namedChats)
            }
            return NotificationText(summary: Self.application, body: body, category: "transfer.complete")
        }
        var text = NotificationText(
            summary: title(group), body: Self.files(count, "new"), category: "transfer.complete")
        guard preview == .message, let latest = group.files.last else { return text }
        if count == 1 {
            text.body = named(latest)
            let caption = PlainText.line(SecretText.hiding(latest.caption), limit: Self.maxCaption)
            if !caption.isEmpty { text.body += "\n" + caption }
        } else {
            text.body += ": " + listed(group.files.reversed().map(name), of: count, limit: Self.namedFiles)
        }
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
        if !group.mayRetry { body += " Look into the chat first; Send Again in its menu sends it once more." }
        return NotificationText(summary: title(group), body: body, category: "transfer.error")
    }

    private func hold(_ group: NotificationGroup) -> NotificationText {
        var body = "\(subject(of: group)) may be unfinished and \(group.count == 1 ? "is" : "are") not sent."
        if preview != .hidden, !group.why.isEmpty { body += " " + sentence(group.why) }
        return NotificationText(summary: title(group), body: body, category: "transfer.error")
    }

    private func expiry(_ group: NotificationGroup) -> NotificationText {
        let go = group.count == 1 ? "goes" : "go"
        var body = "\(subject(of: group)) \(go) from the relay soon"
        if let time = group.expires, preview != .hidden {
            body += group.count == 1 ? ": at \(time.text)" : ", the first at \(time.text)"
        }
        return NotificationText(summary: title(group), body: body + ".")
    }

    private func refusal(_ request: RefusedRequest?) -> NotificationText {
        let sentence = sentence(request?.sentence ?? "")
        var summary = "\(Self.application) refused this"
        if preview != .hidden, let chat = request?.chatName, !chat.isEmpty {
            summary = "Refused in \(line(chat, limit: Self.maxName))"
        }
        var body = sentence
        if preview == .message, let subject = request?.subject {
            let name = line(subject, limit: Self.maxName)
            if !name.isEmpty { body = "\(name): \(sentence)" }
        }
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
        return preview == .hidden || name.isEmpty ? Self.application : name
    }

    /// What a sentence begins with.
    private func subject(of group: NotificationGroup) -> String {
        guard group.count == 1 else { return "\(group.count) files" }
        guard preview == .message, let file = group.files.last else { return "A file" }
        return name(file)
    }

    private static func files(_ count: Int, _ word: String) -> String {
        count == 1 ? "\(word.prefix(1).uppercased() + word.dropFirst()) file" : "\(count) \(word) files"
    }

    private func named(_ file: NotifiedFile) -> String {
        let sender = line(file.sender, limit: Self.maxName)
        let isSaid = sender.isEmpty || sender == line(file.chatName, limit: Self.maxName)
        return isSaid ? name(file) : "\(sender): \(name(file))"
    }

    private func name(_ file: NotifiedFile) -> String {
        let name = line(SafeFileName.make(from: file.name) ?? "", limit: Self.maxName)
        return name.isEmpty ? "A file" : name
    }

    private func chatNames(of group: NotificationGroup) -> [String] {
        var names: [String] = []
        for file in group.files.reversed() {
            let name = line(file.chatName, limit: Self.maxName)
            if !name.isEmpty, !names.contains(name) { names.append(name) }
        }
        return names
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
