import Base
import ChatCore
import Glibc
import Posix

/// Watches the database file of a core program: writes indicate changes whose events went to another client.
/// Only if the file is on this machine and readable.
final class DatabaseWatch: Sendable {
    private struct State {
        var token: FileWatch.Token?
        /// True after a write since the last comparison.
        var wasWritten = false
        /// Consecutive comparisons with a change that the watch missed.
        var missedChanges = 0
    }

    private let connection: CoreConnection
    private let state = Lock(State())

    /// After this many misses, the watched file is another one.
    private static let maxMissedChanges = 3

    init(_ connection: CoreConnection) { self.connection = connection }

    var isActive: Bool { state.withLock { $0.token != nil } }

    /// Starts watching, once.
    /// - Parameter written: Called on the watch's thread; must return at once.
    func begin(written: @escaping @Sendable () -> Void) async throws(ChatError) {
        guard !isActive, let path = try await path() else { return }
        let changed: @Sendable () -> Void = { [weak self] in
            self?.state.withLock { $0.wasWritten = true }
            written()
        }
        let token = await indexThreads.run { () -> FileWatch.Token? in
            do throws(SystemError) {
                return try FileWatch.shared().add(path, changed: changed)
            } catch {
                log.information("core database not watched: error=\(error.sentence)")
                return nil
            }
        }
        state.withLock { $0.token = token }
    }

    /// Returns nil if the core does not support queries or its database is elsewhere.
    private func path() async throws(ChatError) -> String? {
        let path = try await connection.text("SELECT file FROM pragma_database_list WHERE name = 'main'")
        guard let path, path.isAbsolutePath, access(path, R_OK) == 0 else { return nil }
        return path
    }

    /// Records a change of the core. After several changes that the watch missed, stops it: it watches
    /// another file, such as one outside the core's container with the same name.
    func noteChange() {
        let isWrong = state.withLock { state in
            state.missedChanges = state.wasWritten ? 0 : state.missedChanges + 1
            state.wasWritten = false
            return state.missedChanges >= Self.maxMissedChanges
        }
        guard isWrong else { return }
        log.notice("core database watch missed writes, comparing periodically")
        end()
    }

    func end() {
        let token = state.withLock { state in
            defer { state.token = nil }
            return state.token
        }
        // An error means that there is no watch.
        if let token { try? FileWatch.shared().remove(token) }
    }
}
