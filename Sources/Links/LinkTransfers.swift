import Base
import ChatCore

/// Maps transfers of the core to rows. Keeps events of a transfer that is just being started until its number is known.
final class LinkTransfers: Sendable {
    private struct State {
        var rows: [FileID: Int64] = [:]
        var beginning = 0
        var early: [ChatEvent] = []

        mutating func endBeginning() {
            beginning -= 1
            if beginning == 0 { early = [] }
        }
    }

    private let state = Lock(State())

    func contains(_ file: FileID, of row: Int64) -> Bool { state.withLock { $0.rows[file] == row } }

    /// A transfer is being started: `began` or `failedToBegin` follows.
    func begin() { state.withLock { $0.beginning += 1 } }

    /// - Returns: The events received meanwhile.
    func began(_ file: FileID, of row: Int64) -> [ChatEvent] {
        state.withLock { state in
            state.rows[file] = row
            let early = state.early.filter { $0.standaloneFile == file }
            state.endBeginning()
            return early
        }
    }

    func failedToBegin() { state.withLock { $0.endBeginning() } }

    /// The transfer was revoked.
    func remove(_ file: FileID) { state.withLock { _ = $0.rows.removeValue(forKey: file) } }

    /// Returns the row of an event, or nil for foreign transfers and those with an unknown number.
    func row(of event: ChatEvent) -> Int64? {
        guard let file = event.standaloneFile else { return nil }
        return state.withLock { state in
            if let row = state.rows[file] { return row }
            if state.beginning > 0 { state.early.append(event) }
            return nil
        }
    }
}

extension ChatEvent {
    /// Whether the event is about an upload without a chat.
    fileprivate var standaloneFile: FileID? {
        switch self {
        case .standaloneFileProgress(let file, _, _), .standaloneFileWarning(let file, _),
            .sndStandaloneFileComplete(let file, _), .sndStandaloneFileError(let file, _):
            file
        default: nil
        }
    }
}
