import Base
import Glibc

/// Limits a resource to one process: an flock(2) on a file that names the holder. The kernel releases it at any end of
/// the process.
public final class ProcessLock: Sendable {
    /// The content of the lock file, one fact per line; the mountpoint last, because it may contain any character.
    public struct Holder: Hashable, Sendable, CustomStringConvertible {
        public enum State: String, Sendable {
            case running
            /// The holder will release it soon.
            case finishing
        }

        public var process: Int32
        public var state: State
        public var mountpoint: String?

        var text: String { "\(process)\n\(state.rawValue)\n\(mountpoint ?? "")" }

        public init(process: Int32, state: State, mountpoint: String?) {
            self.process = process
            self.state = state
            self.mountpoint = mountpoint
        }

        /// Returns nil for malformed content.
        public init?(_ text: String) {
            // The rest belongs to an earlier holder with a longer mountpoint.
            let text = text.prefix { $0 != "\0" }
            let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
            guard lines.count == 3, let process = Int32(lines[0]),
                let state = State(rawValue: String(lines[1]))
            else { return nil }
            self.init(process: process, state: state, mountpoint: lines[2].isEmpty ? nil : String(lines[2]))
        }

        /// `process 4711, mounted at /home/ann/Chats`.
        public var description: String {
            "process \(process)" + (mountpoint.map { ", mounted at \($0)" } ?? "")
        }
    }

    public enum Attempt: Sendable {
        case taken(ProcessLock)
        /// Held by another process; nil if that has not named itself.
        case refused(Holder?)
    }

    private let held: Lock<OpenFile?>
    private let mountpoint: String?

    private init(_ file: OpenFile, mountpoint: String?) {
        held = Lock(file)
        self.mountpoint = mountpoint
    }

    /// Waits up to `timeout` while the holder is finishing, and some seconds while it has not named itself. Reports a
    /// running holder at once.
    ///
    /// - Parameters:
    ///   - file: Open for reading and writing, and used only for this lock.
    ///   - mountpoint: Shown to other processes.
    /// - Throws: If the file cannot be locked, read or written.
    public static func take(
        _ file: OpenFile, mountpoint: String?, timeout: Duration
    ) throws(SystemError) -> Attempt {
        let start = ContinuousClock.now
        while try !file.tryLock() {
            let waited = ContinuousClock.now - start
            let holder = try holder(by: file)
            let isPatient =
                switch holder {
                case .said(let holder): holder.state == .finishing && waited < timeout
                case .silent, .outdated: waited < .seconds(5)
                }
            guard isPatient else { return .refused(holder.named) }
            usleep(50_000)
        }
        let lock = ProcessLock(file, mountpoint: mountpoint)
        try lock.write(.running)
        return .taken(lock)
    }

    /// Announces that the lock will be free soon, so that the next process waits.
    public func finish() { try? write(.finishing) }

    /// Releases the lock.
    public func release() {
        let file = held.withLock { file in
            defer { file = nil }
            return file
        }
        // The next holder must not be mistaken for this one.
        try? file?.truncate(to: 0)
        file?.unlock()
    }

    /// Writes the text with its end in one call and truncates afterwards, so the file is never partial or empty.
    private func write(_ state: Holder.State) throws(SystemError) {
        guard let file = held.withLock({ $0 }) else { return }
        let text = Holder(process: getpid(), state: state, mountpoint: mountpoint).text
        try file.write(Array(text.utf8) + [0], at: 0)
        try file.truncate(to: UInt64(text.utf8.count + 1))
    }

    private enum Named {
        case said(Holder)
        /// Its process is gone: the new holder has not named itself yet.
        case outdated(Holder)
        case silent

        var named: Holder? {
            switch self {
            case .said(let holder), .outdated(let holder): holder
            case .silent: nil
            }
        }
    }

    private static func holder(by file: OpenFile) throws(SystemError) -> Named {
        var text = try file.readAll(limit: 8192)
        // A read during a write may mix two holders.
        for _ in 0..<16 {
            let again = try file.readAll(limit: 8192)
            if again == text { break }
            text = again
        }
        guard let holder = Holder(String(decoding: text, as: UTF8.self)) else { return .silent }
        let isThere = kill(holder.process, 0) == 0 || errno != ESRCH
        return isThere ? .said(holder) : .outdated(holder)
    }
}
