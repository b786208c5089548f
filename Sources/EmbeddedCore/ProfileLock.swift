import Base
import ChatCore
import Glibc
import Posix

/// Keeps a profile to one process: an flock(2) on a file that says who holds it. The kernel lets go
/// when the process ends, however it ends.
final class ProfileLock: Sendable {
    /// What the lock file says, one per line; the mountpoint last, since it may hold any character.
    struct Holder: Equatable {
        enum State: String {
            case running
            case finishing
        }

        var process: Int32
        var state: State
        var mountpoint: String?

        var text: String { "\(process)\n\(state.rawValue)\n\(mountpoint ?? "")" }

        init(process: Int32, state: State, mountpoint: String?) {
            self.process = process
            self.state = state
            self.mountpoint = mountpoint
        }

        init?(_ text: String) {
            let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
            guard lines.count == 3, let process = Int32(lines[0]),
                let state = State(rawValue: String(lines[1]))
            else { return nil }
            self.init(process: process, state: state, mountpoint: lines[2].isEmpty ? nil : String(lines[2]))
        }
    }

    private let held: Lock<OpenFile?>
    private let mountpoint: String?

    /// Takes the lock. Blocks up to `patience` while the holder is finishing, and a moment while it
    /// has not yet said who it is; a holder that is running is refused at once, by name.
    init(path: String, mountpoint: String?, patience: Duration) throws {
        let file = try OpenFile(path, flags: O_RDWR | O_CREAT)
        held = Lock(file)
        self.mountpoint = mountpoint
        let start = ContinuousClock.now
        while try !file.tryLock() {
            let waited = ContinuousClock.now - start
            let text = String(decoding: try file.readAll(limit: 8192), as: UTF8.self)
            switch Holder(text) {
            case let holder? where holder.state == .running || waited >= patience:
                throw Self.refusal(holder)
            case nil where waited >= .seconds(1):
                throw ChatError(.profileInUse, "The profile is in use by another process.")
            default:
                usleep(50_000)
            }
        }
        try write(.running)
    }

    /// Says that the lock will be free soon, so that the next process waits for it.
    func finish() { try? write(.finishing) }

    /// Lets the profile go.
    func release() { held.withLock { $0 = nil } }

    private func write(_ state: Holder.State) throws(SystemError) {
        guard let file = held.withLock({ $0 }) else { return }
        let text = Holder(process: getpid(), state: state, mountpoint: mountpoint).text
        try file.truncate(to: 0)
        try file.write(Array(text.utf8), at: 0)
    }

    private static func refusal(_ holder: Holder) -> ChatError {
        let place = holder.mountpoint.map { ", mounted at \($0)" } ?? ""
        return ChatError(
            .profileInUse, "The profile is in use by process \(holder.process)\(place).")
    }
}
