import ChatCore
import Notifications

/// What notifications say of people: who writes, asks, invites or has become a contact.
extension NotificationSource {
    /// Of a core that keeps no logs: its numbers of messages grow as a log does.
    func text(_ item: ChatItem) -> NotificationEvent {
        let text = NotifiedFile(
            .text("item-\(item.id.rawValue)"), in: item.chat, named: name(of: item.chat), name: "",
            sender: item.chat.told(sender: item.sender), caption: item.content.text)
        return .wrote(text, end: UInt64(clamping: item.id.rawValue))
    }

    /// What came to the logs of all chats and was not told.
    func missedTexts() async -> [NotificationEvent] {
        var events: [NotificationEvent] = []
        // A core that keeps none has none; one that does not answer tells of each that grows later.
        for (chat, log) in (try? await core.messageLogs()) ?? [:] {
            events += await texts.events(of: chat, upTo: log.size, in: core, named: name(of: chat))
        }
        return events
    }

    /// A contact to whom something can be sent; whether that is news is decided by who tells.
    func connection(_ chat: Chat) -> [NotificationEvent] {
        guard case .direct = chat.reference, chat.sendingRefused == nil else { return [] }
        let name = name(of: chat.reference)
        // Its folder may be made at this moment.
        return [.connected(chat.reference, named: name.isEmpty ? chat.displayName : name)]
    }

    /// Everybody who waits for an answer, and who does not any more.
    func requests() async -> [NotificationEvent] {
        // A core that does not answer, or has none, tells when there is something.
        guard let waiting = try? await core.requests() else { return [] }
        let asked = waiting.filter { $0.problem == nil }.map { request in
            NotificationEvent.asked(
                NotifiedFile(
                    .request(request.number), in: request.chat.flatMap { ChatReference($0) }, named: "",
                    name: request.group ?? "", sender: sender(of: request), caption: request.text))
        }
        return [.waitingRequests(Set(waiting.map(\.number)))] + asked
    }

    /// A contact is called as its folder is: a display name may be that of another.
    private func sender(of request: WaitingRequest) -> String {
        let folder = request.chat.flatMap { ChatReference($0) }.map(name) ?? ""
        return folder.isEmpty ? request.name : folder
    }

    /// The contacts that there are, and how long the logs of chats are.
    func present() async -> (contacts: Set<ChatReference>, logEnds: [ChatReference: UInt64]) {
        // A core that does not answer has none now; what it tells later is news then.
        let chats = (try? await core.chats()) ?? []
        let logs = (try? await core.messageLogs()) ?? [:]
        let contacts = chats.filter { $0.sendingRefused == nil }.map(\.reference)
        return (Set(contacts.filter { if case .direct = $0 { true } else { false } }), logs.mapValues(\.size))
    }

    /// Who has become a contact while nothing was mounted.
    func connections() async -> [NotificationEvent] {
        // As in `present`.
        ((try? await core.chats()) ?? []).flatMap(connection)
    }
}
