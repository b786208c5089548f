import Base
import ChatCore

/// Which transfers of the core belong to which rows. What is told of one whose number is not known yet, because it is
/// just being begun, is kept until it is.
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

    /// One is being begun: `began` or `failedToBegin` follows.
    func begin() { state.withLock { $0.beginning += 1 } }

    /// - Returns: what was told of it meanwhile.
    func began(_ file: FileID, of row: Int64) -> [ChatEvent] {
        state.withLock { state in
            state.rows[file] = row
            let early = state.early.filter { $0.standaloneFile == file }
            state.endBeginning()
            return early
        }
    }

    func failedToBegin() { state.withLock { $0.endBeginning() } }

    /// It was taken back.
    func remove(_ file: FileID) { state.withLock { _ = $0.rows.removeValue(forKey: file) } }

    /// The row that something is told of; nil where it is of no row, or of one that is not known yet.
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
    /// Of a transfer without a chat that is uploaded.
    fileprivate var standaloneFile: FileID? {
        switch self {
        case .standaloneFileProgress(let file, _, _), .standaloneFileWarning(let file, _),
            .sndStandaloneFileComplete(let file, _), .sndStandaloneFileError(let file, _):
            file
        default: nil
        }
    }
}
