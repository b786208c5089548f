import Base
import ChatCore

/// All known drafts and their names in the chat folders. Thread-safe; no I/O.
final class DraftDirectory: Sendable {
    private struct Name: Hashable {
        var chat: ChatReference
        var bytes: [UInt8]
    }

    private struct State {
        var drafts: [Int64: Draft] = [:]
        /// Drafts with a name in a chat folder: not sent, recovered or removed.
        var names: [Name: Draft] = [:]
        /// Returns true if another entry has the name in a chat folder.
        var isEntry: @Sendable ([UInt8], ChatReference) -> Bool = { _, _ in false }
    }

    private let state = Lock(State())

    /// Oldest first.
    var drafts: [Draft] { state.withLock { $0.drafts.values.sorted { $0.id < $1.id } } }

    func draft(_ id: Int64) -> Draft? { state.withLock { $0.drafts[id] } }

    func draft(named name: [UInt8], in chat: ChatReference) -> Draft? {
        state.withLock { $0.names[Name(chat: chat, bytes: name)] }
    }

    /// Sets the lookup of other entries, which may block on disk I/O. Set once, at the start.
    func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool) {
        state.withLock { $0.isEntry = isEntry }
    }

    /// Returns true if a draft or another entry has this name. Blocks.
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

    /// Renames several drafts at once. Each may take the old name of another.
    func rename(_ moves: [(draft: Draft, old: [UInt8], name: [UInt8])]) {
        state.withLock { state in
            for move in moves { state.names[Name(chat: move.draft.chat, bytes: move.old)] = nil }
            for move in moves { state.names[Name(chat: move.draft.chat, bytes: move.name)] = move.draft }
        }
    }

    /// Releases the name.
    func removeName(of draft: Draft) {
        let name = Name(chat: draft.chat, bytes: draft.snapshot.name)
        state.withLock { state in
            if state.names[name] === draft { state.names[name] = nil }
        }
    }

    /// Adds a name in the chat folder again.
    func addName(of draft: Draft, _ name: [UInt8]) {
        state.withLock { $0.names[Name(chat: draft.chat, bytes: name)] = draft }
    }

    func remove(_ draft: Draft) {
        removeName(of: draft)
        state.withLock { $0.drafts[draft.id] = nil }
    }
}
