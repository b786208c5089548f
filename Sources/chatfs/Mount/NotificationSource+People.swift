import ChatCore
import Notifications

/// Notifications of people: texts, requests, invitations and new contacts.
extension NotificationSource {
    /// For a core without logs, whose item numbers grow instead.
    func text(_ item: ChatItem) -> NotificationEvent {
        let text = NotifiedFile(
            .text(TextReference(item.id, in: item.chat)), in: item.chat, named: name(of: item.chat), name: "",
            sender: item.chat.told(sender: item.sender), caption: item.content.text)
        return .wrote(text, end: UInt64(clamping: item.id.rawValue))
    }

    /// Returns the events of log lines that were not notified.
    func missedTexts() async -> [NotificationEvent] {
        var events: [NotificationEvent] = []
        for (chat, log) in await notifiedLogs() {
            events += await texts.events(of: chat, upTo: log.size, in: core, named: name(of: chat))
        }
        return events
    }

    /// Returns the unread texts that expired, or that a phone deleted, while unmounted. Other deletions are new lines.
    func expiredTexts(since told: NotificationRecord) async -> [NotificationEvent] {
        let unread = told.unread.textWords
        guard !unread.isEmpty else { return [] }
        var events: [NotificationEvent] = []
        // As in `notifiedLogs`.
        for (chat, log) in (try? await core.messageLogs()) ?? [:] {
            guard let words = unread[chat] else { continue }
            let gone = await texts.expired(in: chat, upTo: log.size, of: core)
            events += gone.filter { words.contains($0.word) }.map { .gone(.text($0)) }
        }
        return events
    }

    /// Returns the logs whose new lines are notified. A phone tells new texts itself, and its logs grow by old ones too.
    private func notifiedLogs() async -> [ChatReference: MessageLog] {
        guard phone == nil else { return [:] }
        // A core without logs returns none; an unresponsive one reports growth later.
        return (try? await core.messageLogs()) ?? [:]
    }

    /// Returns a connected contact; the notifier decides whether it is new.
    func connection(_ chat: Chat) -> [NotificationEvent] {
        guard case .direct = chat.reference, chat.sendingRefused == nil else { return [] }
        let name = name(of: chat.reference)
        // The folder may not exist yet.
        return [
            .connected(
                chat.reference, named: name.isEmpty ? chat.displayName : name, at: chat.updatedAt)
        ]
    }

    /// Returns all pending requests, and which numbers are still pending.
    func requests() async -> [NotificationEvent] {
        // An unresponsive core reports requests later.
        guard let waiting = try? await core.requests() else { return [] }
        let asked = waiting.filter { $0.problem == nil }.map { request in
            NotificationEvent.asked(
                NotifiedFile(
                    .request(request.number), in: request.chat.flatMap { ChatReference($0) }, named: "",
                    name: request.group ?? "", sender: sender(of: request), caption: request.text))
        }
        return [.waitingRequests(Set(waiting.map(\.number)))] + asked
    }

    /// Returns the folder name of a contact, because a display name may imitate another contact's.
    private func sender(of request: WaitingRequest) -> String {
        let folder = request.chat.flatMap { ChatReference($0) }.map(name) ?? ""
        return folder.isEmpty ? request.name : folder
    }

    /// Returns the present contacts and the lengths of the logs.
    func present() async -> (contacts: Set<ChatReference>, logEnds: [ChatReference: UInt64]) {
        // For an unresponsive core, returns none; later reports count as new.
        let chats = (try? await core.chats()) ?? []
        let logs = await notifiedLogs()
        let contacts = chats.filter { $0.sendingRefused == nil }.map(\.reference)
        return (Set(contacts.filter { if case .direct = $0 { true } else { false } }), logs.mapValues(\.size))
    }

    /// Returns contacts that connected while unmounted.
    func connections() async -> [NotificationEvent] {
        // As in `present`.
        ((try? await core.chats()) ?? []).flatMap(connection)
    }
}
