import Base
import ChatCore

/// All drafts that an outbox knows, and the names that they take in the folders of their chats. Any thread, from
/// memory.
final class DraftDirectory: Sendable {
    private struct Name: Hashable {
        var chat: ChatReference
        var bytes: [UInt8]
    }

    private struct State {
        var drafts: [Int64: Draft] = [:]
        /// What has a name in a chat's folder: neither sent nor recovered nor removed.
        var names: [Name: Draft] = [:]
        /// Whether something else has a name in a chat's folder.
        var isEntry: @Sendable ([UInt8], ChatReference) -> Bool = { _, _ in false }
    }

    private let state = Lock(State())

    /// By age.
    var drafts: [Draft] { state.withLock { $0.drafts.values.sorted { $0.id < $1.id } } }

    func draft(_ id: Int64) -> Draft? { state.withLock { $0.drafts[id] } }

    func draft(named name: [UInt8], in chat: ChatReference) -> Draft? {
        state.withLock { $0.names[Name(chat: chat, bytes: name)] }
    }

    /// Who knows of what else lies in the folders; it may block on the disk. Set once, at the start.
    func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool) {
        state.withLock { $0.isEntry = isEntry }
    }

    /// Whether a draft or something else has this name. Blocks.
    func holds(_ name: [UInt8], in chat: ChatReference) -> Bool {
        if draft(named: name, in: chat) != nil { return true }
        return state.withLock { $0.isEntry }(name, chat)
    }

    func add(_ draft: Draft, named name: [UInt8]?) {
        state.withLock { state in
            state.drafts[draft.id] = draft
            if let name { state.names[Name(chat: draft.chat, bytes: name)] = draft }
        }
    }

    func rename(_ draft: Draft, from old: [UInt8], to name: [UInt8], replacing other: Draft?) {
        state.withLock { state in
            state.names[Name(chat: draft.chat, bytes: old)] = nil
            state.names[Name(chat: draft.chat, bytes: name)] = draft
            if let other { state.drafts[other.id] = nil }
        }
    }

    /// Several get other names at once; each may get one that another of them gives up.
    func rename(_ moves: [(draft: Draft, old: [UInt8], name: [UInt8])]) {
        state.withLock { state in
            for move in moves { state.names[Name(chat: move.draft.chat, bytes: move.old)] = nil }
            for move in moves { state.names[Name(chat: move.draft.chat, bytes: move.name)] = move.draft }
        }
    }

    /// Its name is free.
    func removeName(of draft: Draft) {
        let name = Name(chat: draft.chat, bytes: draft.snapshot.name)
        state.withLock { state in
            if state.names[name] === draft { state.names[name] = nil }
        }
    }

    /// It has a name in its chat's folder again.
    func addName(of draft: Draft, _ name: [UInt8]) {
        state.withLock { $0.names[Name(chat: draft.chat, bytes: name)] = draft }
    }

    func remove(_ draft: Draft) {
        removeName(of: draft)
        state.withLock { $0.drafts[draft.id] = nil }
    }
}
