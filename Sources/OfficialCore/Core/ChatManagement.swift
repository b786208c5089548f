import Base
import ChatCore
import CoreServices

/// Renames, leaves and deletes chats through the core.
struct ChatManagement: Sendable {
    let connection: CoreConnection
    let index: IndexStore
    let recent: RecentEvents
    let deliveries: PendingDeliveries

    func rename(_ reference: ChatReference, to name: String) async throws(ChatError) {
        let name = try DisplayName.checked(name, of: "chat")
        _ = try await chat(reference)
        let chats = try await index.reading { try $0.chats.shown() }
        let isTaken = chats.contains {
            $0.isNamedByUser && $0.displayName == name && $0.reference != reference
        }
        if isTaken { throw ChatError(.nameTaken, "\(name) is your name for another chat.") }
        try await carryOut(.setAlias(reference, name))
    }

    func leave(_ reference: ChatReference) async throws(ChatError) {
        let chat = try await chat(reference)
        // The core would repeat the message to the other members.
        if try await hasEnded(reference) { throw ChatError(.invalidCommand, "This chat has ended already.") }
        try await deliveries.collect { () async throws(ChatError) in
            switch reference {
            case .group(let id): try await carryOut(.leaveGroup(id))
            // The core ends a contact by deleting it; this flag keeps the history.
            default: try await carryOut(.deleteChat(reference, keepsHistory: true))
            }
        }
        // Some cores reply with the chat's earlier state.
        await blocking.attempt("record that a chat was left") { [index, recent] in
            recent.note(reference)
            try index.commit { try $0.noteLeft(chat) }
        }
    }

    func delete(_ reference: ChatReference) async throws(ChatError) {
        _ = try await chat(reference)
        try await deliveries.collect { () async throws(ChatError) in
            // An owner's deletion would end the group for all members; a member who has left deletes only the
            // own copy.
            if case .group(let id) = reference, try await !hasEnded(reference) {
                // A refusal means that the user had not joined yet.
                _ = try await connection.answer(
                    .leaveGroup(id), timeout: .seconds(60), unlessRefused: { _ in true })
            }
            try await carryOut(.deleteChat(reference, keepsHistory: false))
        }
    }

    /// Asks the core for the current state.
    private func hasEnded(_ reference: ChatReference) async throws(ChatError) -> Bool {
        let newest = APICommand.chatPage(APIChatReference(reference), .last(1))
        guard case .chatPage(let page) = try await connection.answer(newest) else { return false }
        return page.chat.hasEnded
    }

    private func chat(_ reference: ChatReference) async throws(ChatError) -> Chat {
        if case .notes = reference { throw ChatError(.invalidCommand, "Saved notes belong to the profile.") }
        let chat = try await index.reading { try $0.chats.chat(reference) }
        guard let chat else { throw ChatError.noSuchChat }
        return chat
    }

    private func carryOut(_ command: APICommand) async throws(ChatError) {
        let response = try await connection.answer(command, timeout: .seconds(60))
        await blocking.attempt("record a changed chat") { [index, recent] in
            if let reference = response.changedChat { recent.note(reference) }
            try index.commit { change in
                switch (response, command) {
                case (.chatUpdated(let info), _),
                    (.chatDeleted(let info), .deleteChat(_, keepsHistory: true)):
                    try change.take(info)
                case (.chatDeleted(let info), _): try change.removeChat(info.reference.chat)
                default: break
                }
            }
        }
    }
}

extension APIResponse {
    fileprivate var changedChat: ChatReference? {
        switch self {
        case .chatUpdated(let info), .chatDeleted(let info): info.reference.chat
        default: nil
        }
    }
}
