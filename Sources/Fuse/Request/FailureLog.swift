import Base
import FileSystem
import Glibc
import Posix

/// The operation and inode number of a request, for logs.
struct RequestSubject: Sendable {
    let operation: StaticString
    let node: UInt64

    init(_ operation: StaticString, _ node: UInt64) {
        self.operation = operation
        self.node = node
    }
}

/// Counts failed requests that are not the caller's fault, and logs each distinct one once, unless the layer that found
/// the failure has logged it. Thread-safe.
final class FailureLog: Sendable {
    private struct Key: Hashable {
        let operation: String
        let node: UInt64
        let code: Int32
    }

    private struct State {
        /// Counts by operation, then by errno.
        var counts: [String: [String: UInt64]] = [:]
        var limit = RepetitionLimit<Key>()
    }

    private let state = Lock(State())
    private let start = ContinuousClock.now
    private let write: @Sendable (String) -> Void

    init(write: @escaping @Sendable (String) -> Void = { line in Log("fuse").warning(line) }) {
        self.write = write
    }

    func note(_ subject: RequestSubject, _ error: FileSystemError) {
        guard error.isFailure else { return }
        let (operation, name) = ("\(subject.operation)", Self.name(of: error.code))
        let now = ContinuousClock.now - start
        let verdict = state.withLock { state -> RepetitionLimit<Key>.Verdict in
            state.counts[operation, default: [:]][name, default: 0] += 1
            if error.isLogged { return .keepBack }
            return state.limit.verdict(
                on: Key(operation: operation, node: subject.node, code: error.code), now: now)
        }
        guard case .say(let keptBack) = verdict else { return }
        let more = keptBack > 0 ? " suppressed=\(keptBack)" : ""
        write(
            "request failed: operation=\(operation) inode=\(subject.node) errno=\(name)\(more) "
                + "error=\(sentenceWithCauses(of: error))")
    }

    var counts: [String: [String: UInt64]] { state.withLock { $0.counts } }

    /// Returns the name of a code that `FileSystemError` uses for failures, else its number.
    static func name(of code: Int32) -> String {
        let names = [
            EIO: "EIO", ENOSPC: "ENOSPC", EBADMSG: "EBADMSG", ETIMEDOUT: "ETIMEDOUT", ENODATA: "ENODATA",
            EHOSTUNREACH: "EHOSTUNREACH", EACCES: "EACCES", EFBIG: "EFBIG", ENOENT: "ENOENT",
            EMFILE: "EMFILE", ENFILE: "ENFILE", ENOMEM: "ENOMEM", EROFS: "EROFS", EDQUOT: "EDQUOT",
            ESTALE: "ESTALE", EPERM: "EPERM",
        ]
        return names[code] ?? "errno \(code)"
    }
}
