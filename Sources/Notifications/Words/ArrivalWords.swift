import ChatCore

/// Composes the texts for arrivals: sender and action, then the content.
struct ArrivalWords: Sendable {
    let preview: NotificationPreview

    private static let maxName = 120
    private static let maxCaption = 240
    private static let namedFiles = 3
    private static let namedChats = 5

    func text(of group: NotificationGroup) -> NotificationText {
        let isText = group.key.subject == .text
        var text = NotificationText(
            summary: NotificationText.application, body: "",
            category: isText ? "im.received" : "transfer.complete")
        guard preview != .hidden else {
            text.body = what(group, isText) + (group.key.chat == nil ? " in \(chats(of: group))" : "")
            return text
        }
        guard group.key.chat != nil else {
            text.summary = what(group, isText) + " in \(chats(of: group))"
            text.body = listed(chatNames(of: group), of: group.chats.count, limit: Self.namedChats)
            return text
        }
        text.summary = summary(of: group, isText)
        guard preview == .message, let latest = group.files.last else { return text }
        if isText {
            text.body = texts(group)
        } else if group.count == 1 {
            text.body = name(latest)
            if !caption(latest).isEmpty { text.body += "\n" + caption(latest) }
            if latest.hasPreview { text.pictureOf = latest }
        } else {
            text.body = listed(group.files.reversed().map(name), of: group.count, limit: Self.namedFiles)
        }
        return text
    }

    // MARK: - Summary

    private func summary(of group: NotificationGroup, _ isText: Bool) -> String {
        let chat = line(group.files.last?.chatName ?? "")
        // The sender is named in groups only.
        let senders = Set(group.files.map { line($0.sender) })
        let isGroup = senders != [""] && senders != [chat]
        guard !chat.isEmpty else { return what(group, isText) }
        if !isGroup { return isText ? "\(chat) wrote" : "\(chat) sent \(things(of: group))" }
        guard preview == .message, senders.count == 1, group.count <= group.files.count,
            let sender = senders.first, !sender.isEmpty
        else { return what(group, isText) + " in \(chat)" }
        return isText ? "\(sender) wrote in \(chat)" : "\(sender) sent \(things(of: group)) to \(chat)"
    }

    /// For example `New file` or `3 new messages`.
    private func what(_ group: NotificationGroup, _ isText: Bool) -> String {
        let noun = isText ? "message" : "file"
        return group.count == 1 ? "New \(noun)" : "\(group.count) new \(noun)s"
    }

    private func things(of group: NotificationGroup) -> String {
        let kinds = Set(group.files.map(\.kind))
        let areAllKnown = group.count <= group.files.count && preview == .message
        let kind = areAllKnown && kinds.count == 1 ? kinds.first ?? .file : .file
        let noun =
            switch kind {
            case .file: "file"
            case .picture: "picture"
            case .video: "video"
            case .voice: "voice message"
            }
        return group.count == 1 ? "a \(noun)" : "\(group.count) \(noun)s"
    }

    private func chats(of group: NotificationGroup) -> String {
        group.chats.count == 1 ? "a chat" : "\(group.chats.count) chats"
    }

    // MARK: - Body

    /// Returns the latest texts, one per line, oldest first.
    private func texts(_ group: NotificationGroup) -> String {
        let senders = Set(group.files.map(\.sender))
        return group.files.suffix(Self.namedFiles).map { file in
            let text = caption(file).isEmpty ? "…" : caption(file)
            return senders.count > 1 ? "\(line(file.sender)): \(text)" : text
        }.joined(separator: "\n")
    }

    private func caption(_ file: NotifiedFile) -> String {
        PlainText.line(SecretText.hiding(file.caption), limit: Self.maxCaption)
    }

    private func name(_ file: NotifiedFile) -> String {
        let name = line(SafeFileName.make(from: file.name) ?? "")
        return name.isEmpty ? "A file" : name
    }

    private func chatNames(of group: NotificationGroup) -> [String] {
        var names: [String] = []
        for file in group.files.reversed() {
            let name = line(file.chatName)
            if !name.isEmpty, !names.contains(name) { names.append(name) }
        }
        return names
    }

    private func listed(_ names: [String], of count: Int, limit: Int) -> String {
        let named = names.prefix(limit)
        let rest = count - named.count
        return named.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private func line(_ text: String) -> String { PlainText.line(text, limit: Self.maxName) }
}
