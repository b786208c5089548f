import Base
import ChatCore

/// The order in which files are claimed and given up. The core refuses a second claim of a file, so a new one
/// waits until the earlier one was given up. Thread-safe.
final class ClaimTurns: Sendable {
    /// A place in the order of one file. Needs one `end`.
    struct Turn: Sendable {
        fileprivate let file: FileID
        fileprivate let number: UInt64
    }

    private struct State {
        var lastNumber: UInt64 = 0
        /// The numbers of a file's turns, the current one first.
        var turns: [FileID: [UInt64]] = [:]
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Lock(State(), rank: .innermost)

    /// Takes the place behind all earlier turns of the file. Does not wait.
    func take(_ file: FileID) -> Turn {
        state.withLock { state in
            state.lastNumber += 1
            state.turns[file, default: []].append(state.lastNumber)
            return Turn(file: file, number: state.lastNumber)
        }
    }

    /// Waits until all earlier turns of the file have ended.
    func begin(_ turn: Turn) async {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                if state.turns[turn.file]?.first == turn.number { return true }
                state.waiting[turn.number] = continuation
                return false
            }
            if isFirst { continuation.resume() }
        }
    }

    func end(_ turn: Turn) {
        let next = state.withLock { state in
            state.turns[turn.file]?.removeAll { $0 == turn.number }
            guard let first = state.turns[turn.file]?.first else {
                state.turns[turn.file] = nil
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeValue(forKey: first)
        }
        next?.resume()
    }
}
