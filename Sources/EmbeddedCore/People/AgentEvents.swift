import Agent
import Base
import ChatCore
import ChatProtocol

/// Processes the agent's events. Each is stored with its number in one transaction, so exactly once.
final class AgentEvents: Sendable {
    private let store: ProfileStore

    init(_ store: ProfileStore) { self.store = store }

    /// Processes events until the agent stops.
    func follow(_ agent: any ConnectionAgent) async {
        await blocking.attempt("process early group messages") { [self] in try takeHeld() }
        for await event in agent.events {
            let code = await presentCode(after: event, of: agent)
            guard let receipt = await takeIn(event, presentCode: code) else { continue }
            await acknowledge(event, withReceipt: receipt, to: agent)
        }
    }

    /// Processes an event. Store errors are retried, as the agent keeps the event. Any other error would be
    /// permanent and block all later events, and a sender could cause it; such an event is skipped.
    /// - Returns: whether to send a receipt; nil if the task was cancelled first.
    private func takeIn(_ event: AgentEvent, presentCode code: String?) async -> Bool? {
        let retry = RetryPolicy(first: .seconds(1), maxDelay: .seconds(60), tries: .max)
        var (number, isHopeless) = (1, false)
        while !Task.isCancelled {
            do throws(ChatError) {
                return try await blocking.run { [self, isHopeless] in
                    try isHopeless ? passOver(event) : take(event, presentCode: code)
                }
            } catch {
                guard isHopeless || error.isOfStore else {
                    log.warning(
                        "event skipped: number=\(event.number) error=\(error.sentence)"
                    )
                    isHopeless = true
                    continue
                }
                number += 1
                log.warning("event not stored, retrying: number=\(event.number) error=\(error.sentence)")
                guard await retry.wait(beforeTry: number) else { return nil }
            }
        }
        return nil
    }

    /// Returns the current security code if the event may have changed it.
    private func presentCode(after event: AgentEvent, of agent: any ConnectionAgent) async -> String? {
        guard case .conditionChanged = event.content else { return nil }
        do throws(AgentError) {
            return try await agent.security(of: event.connection)?.code
        } catch {
            // An unknown code counts as changed if it may have changed.
            log.debug("security code not read: connection=\(event.connection.number) error=\(error.sentence)")
            return nil
        }
    }

    /// Records the event as processed. Blocks.
    private func passOver(_ event: AgentEvent) throws -> Bool {
        try store.commit { change in
            if try event.number > change.tables.people.lastEvent() {
                try change.tables.people.setLastEvent(event.number)
            }
            return false
        }
    }

    private func acknowledge(
        _ event: AgentEvent, withReceipt: Bool, to agent: any ConnectionAgent
    ) async {
        do throws(AgentError) {
            try await agent.acknowledge(event: event.number, withReceipt: withReceipt)
        } catch {
            // The agent repeats the event, and its number is known then.
            guard error.code != .stopped else { return }
            log.notice("event not acknowledged: number=\(event.number) error=\(error.sentence)")
        }
    }

    /// Processes an event. Returns whether to send a receipt. Blocks.
    private func take(_ event: AgentEvent, presentCode code: String?) throws -> Bool {
        try store.commit { change in
            guard try event.number > change.tables.people.lastEvent() else {
                return try change.tables.people.isReceiptDue(event.number)
            }
            try change.tables.people.setLastEvent(event.number)
            try change.tables.people.insert(
                event.connection, event.reason.flatMap { ConnectionReason(text: $0) })
            if case .conditionChanged(let condition) = event.content {
                try noteKeys(code, condition.synchronisation, of: event.connection, change)
            }
            let isReceiptDue = try take(event.content, of: event.connection, change)
            guard isReceiptDue,
                try change.tables.directory.profiles.sendsReceipts(store.profile.id)
            else { return false }
            try change.tables.people.noteReceiptDue(event.number)
            return true
        }
    }

    private func take(
        _ content: AgentEvent.Content, of connection: ConnectionID, _ change: ProfileChange
    ) throws -> Bool {
        switch content {
        case .connecting(let information):
            try connect(connection, information, isConnected: false, change)
        case .connected(let information):
            try connect(connection, information, isConnected: true, change)
            try change.tables.people.noteConnected(connection)
        case .received(let message):
            return try take(message, of: connection, change)
        case .messageFailed(let number, let reason):
            try settle(number, .failed(reason.sentence), of: connection, change)
        case .delivered(let number): try settle(number, .delivered, of: connection, change)
        case .conditionChanged(let condition):
            try note(condition.isTakenOver, of: connection, change)
            try note(condition.synchronisation, of: connection, change)
            if condition.isGone, try groups(change).lose(connection) { break }
            guard let person = try change.tables.people.person(connection), let chat = person.chat,
                person.conversation != nil
            else { break }
            // A refusing server is no sign that the contact left; only the contact ends the chat.
            let refusal: StoredChatRefusal? = condition.isGone ? .nobody : nil
            let isRefused = try change.tables.chats.setRefused(condition.isRefused, of: chat)
            guard try change.tables.chats.setRefusal(refusal, of: chat) || isRefused else { break }
            try change.post(.chatUpdated, to: ChatSide(profile: store.profile.id, chat: chat))
        case .connectionFailed(let reason):
            if try change.tables.memberConnections.row(over: connection) != nil {
                log.debug(
                    "member connection failed: connection=\(connection.number) error=\(reason.sentence)")
                _ = try groups(change).lose(connection)
                break
            }
            log.notice("connection failed: connection=\(connection.number) error=\(reason.sentence)")
            try change.tables.people.setFailure(reason.sentence, of: connection)
            // A contact's folder exists since its introduction, a group's since joining.
            let group = try change.tables.groups.group(over: connection)?.chat
            guard let chat = try group ?? change.tables.people.person(connection)?.chat else { break }
            try change.tables.chats.end(chat, group == nil ? .notConnected : .refused)
            try change.post(.chatUpdated, to: ChatSide(profile: store.profile.id, chat: chat))
        case .requested(let asked, let information):
            try ArrivedRequests(change: change, time: store.clock.now()).take(
                asked, information, over: connection)
        case .sent(let number): try settle(number, .sent, of: connection, change)
        case .deleted: try change.tables.people.forget(connection)
        case .delayed: break
        }
        return false
    }

    /// Records whether another program receives this connection's messages. Ignored for group members: the
    /// host forwards their messages.
    private func note(_ isTakenOver: Bool, of connection: ConnectionID, _ change: ProfileChange) throws {
        guard let chat = try change.tables.people.person(connection)?.chat else {
            return try change.tables.requests.setTakenOver(isTakenOver, of: connection)
        }
        guard try change.tables.chats.setTakenOver(isTakenOver, of: chat) else { return }
        try change.post(.chatUpdated, to: ChatSide(profile: store.profile.id, chat: chat))
    }

    /// Records a key agreement, during which messages wait. Afterwards logs the change in the chat, because
    /// anyone who can write to the queue can cause it.
    private func note(
        _ phase: RatchetSyncPhase, of connection: ConnectionID, _ change: ProfileChange
    ) throws {
        let keys: StoredKeys? =
            switch phase {
            case .synchronised, .allowed: nil
            case .required, .started: .awaited
            case .agreed: .agreed
            }
        guard let person = try change.tables.people.person(connection), let chat = person.chat,
            let contact = person.conversation?.profile
        else { return }
        let before = try change.tables.chats.keys(of: chat)
        guard before != keys else { return }
        try change.tables.chats.setKeys(keys, of: chat)
        let side = ChatSide(profile: store.profile.id, chat: chat)
        if before == .agreed, keys == nil {
            let id = SharedMessageID(from: SystemRandomSource())
            try change.write(
                MessageLine(.keys, of: id, at: change.time, .received, by: contact.displayName), to: side)
        }
        try change.post(.chatUpdated, to: side)
    }

    /// Revokes a verification if the keys have changed.
    /// - Parameter code: current security code; nil if unknown.
    private func noteKeys(
        _ code: String?, _ phase: RatchetSyncPhase, of connection: ConnectionID, _ change: ProfileChange
    ) throws {
        guard code != nil || phase == .agreed,
            let chat = try change.tables.people.person(connection)?.chat
        else { return }
        try change.revokeVerification(of: chat, presentCode: code)
    }

    private func groups(_ change: ProfileChange) -> GroupEvents {
        GroupEvents(change: change, profile: store.profile.id)
    }

    /// Handles the peer's introduction or the established connection. Information that an earlier event had
    /// is empty.
    private func connect(
        _ id: ConnectionID, _ information: [UInt8], isConnected: Bool, _ change: ProfileChange
    ) throws {
        let time = store.clock.now()
        if try groups(change).connect(id, information, isConnected: isConnected, at: time) { return }
        try introduce(information, id, change)
    }

    /// Handles the peer's connection information. Creates the chat that the connection is for.
    private func introduce(
        _ information: [UInt8], _ connection: ConnectionID, _ change: ProfileChange
    ) throws {
        guard !information.isEmpty, let person = try change.tables.people.person(connection), !person.isEnded,
            person.chat == nil, person.failure == nil
        else { return }
        guard
            let message = try? ChatBody.readInformation(information, compression: Zstandard.installed),
            person.reason?.admits(message.event) == true
        else { return try refuse(person, change) }
        switch message.event {
        case .information(let profile): try introduce(profile, message.versions, connection, change)
        case .group(.linkInvitation(let invitation)):
            let host = GroupMember(
                host: invitation.host, profile: ContactProfile(displayName: invitation.hostName))
            try change.join(
                GroupConversation(invitation), over: connection, host: host, of: store.profile.id,
                at: store.clock.now())
        // The connection's group may not be stored yet.
        case .group(.memberInformation):
            try change.tables.groups.hold(information, at: store.clock.now(), over: connection)
        case .group(.linkRejection):
            try change.tables.people.setFailure(StoredChatEnding.refused.sentence, of: connection)
        default: break
        }
    }

    /// Rejects a peer whose information does not fit the connection's reason. Its later messages are ignored
    /// too.
    private func refuse(_ person: PeopleTable.Person, _ change: ProfileChange) throws {
        log.notice(
            "unexpected introduction ignored: connection=\(person.connection.number)")
        try change.tables.people.setFailure(Self.unexpected, of: person.connection)
    }

    private static let unexpected =
        "The other side did not introduce itself as a link of this kind is for: connect with a new link."

    private func introduce(
        _ profile: ContactProfile, _ versions: ClosedRange<UInt16>?, _ connection: ConnectionID,
        _ change: ProfileChange
    ) throws {
        let chat = try change.tables.chats.insertContact(
            profile.displayName, of: store.profile.id, at: store.clock.now())
        let side = ChatSide(profile: store.profile.id, chat: chat)
        try change.follow(profile, in: side)
        let conversation = ContactConversation(profile: profile, versions: versions)
        try change.tables.people.keep(conversation, of: connection, chat: chat)
        try change.post(.chatUpdated, to: side)
    }

    private func take(
        _ message: ReceivedMessage, of connection: ConnectionID, _ change: ProfileChange
    ) throws -> Bool {
        guard let person = try change.tables.people.person(connection), !person.isEnded, person.failure == nil
        else { return false }
        let elements: [ChatBody.Element]
        do throws(ChatProtocolError) {
            elements = try ChatBody.read(message.body, compression: Zstandard.installed)
        } catch {
            log.notice("message ignored: connection=\(connection.number) error=\(error.sentence)")
            return false
        }
        let group = try groups(change).take(elements, at: message.received, over: connection)
        if let isReceiptDue = group { return isReceiptDue }
        guard let chat = person.chat else {
            guard person.reason?.isOfGroup == true else { return false }
            try change.tables.groups.hold(message.body, at: message.received, over: connection)
            return false
        }
        guard var conversation = person.conversation else { return false }
        let side = ChatSide(profile: store.profile.id, chat: chat)
        let known = conversation
        let arrived = ArrivedMessages(
            change: change, side: side, sender: conversation.profile.displayName)
        let stored = StoredConversation(chat, change.tables)
        var isReceiptDue = false
        for element in elements {
            let effects = try conversation.receive(element, at: message.received, from: stored)
            if try arrived.perform(effects) { isReceiptDue = true }
        }
        if conversation != known {
            try change.tables.people.keep(conversation, of: connection, chat: chat)
        }
        return isReceiptDue
    }

    /// Processes group messages that arrived before the group was stored. Blocks.
    func takeHeld() throws {
        try store.commit { change in
            for early in try change.tables.groups.takeHeld() {
                let message = ReceivedMessage(body: early.body, received: early.time, integrity: .complete)
                _ = try take(message, of: early.connection, change)
            }
        }
    }

    /// Records the result of a sent message.
    private func settle(
        _ number: Int64, _ outcome: HandedMessageTable.Outcome, of connection: ConnectionID,
        _ change: ProfileChange
    ) throws {
        let message = try change.tables.handed.take(
            outcome, of: connection, number: number, at: change.elapsed)
        if let message { try change.settle(message, of: connection, outcome) }
    }
}

extension ChatError {
    /// Whether it is a local storage failure.
    fileprivate var isOfStore: Bool { [.storage, .file(.noSpace), .wrongVersion].contains(code) }
}
