import Base
import ChatCore
import Glibc
import Posix

/// The file in which a program keeps its chats: what it writes there tells of changes whose events went to another
/// client. Only where the file is on this machine and open to this user.
final class DatabaseWatch: Sendable {
    private struct State {
        var token: FileWatch.Token?
        /// Written to since the last comparison.
        var wasWritten = false
        /// Comparisons that found a change of which the watch said nothing, one after the other.
        var missedChanges = 0
    }

    private let connection: CoreConnection
    private let state = Lock(State())

    /// So many in a row, and the watch is of another file.
    private static let maxMissedChanges = 3

    init(_ connection: CoreConnection) { self.connection = connection }

    var isActive: Bool { state.withLock { $0.token != nil } }

    /// Begins to watch unless it does.
    /// - Parameter written: called on the thread of the watch; returns at once.
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
                log.information("the core's database cannot be watched: \(error.sentence)")
                return nil
            }
        }
        state.withLock { $0.token = token }
    }

    /// nil from a core that answers no questions about its database, or keeps it elsewhere.
    private func path() async throws(ChatError) -> String? {
        let path = try await connection.text("SELECT file FROM pragma_database_list WHERE name = 'main'")
        guard let path, path.isAbsolutePath, access(path, R_OK) == 0 else { return nil }
        return path
    }

    /// The core has written: when the watch has missed that again and again it is of another file, such as one
    /// of the same name outside of the container in which the core runs.
    func noteChange() {
        let isWrong = state.withLock { state in
            state.missedChanges = state.wasWritten ? 0 : state.missedChanges + 1
            state.wasWritten = false
            return state.missedChanges >= Self.maxMissedChanges
        }
        guard isWrong else { return }
        log.notice("the core's database is not the file of that name here: it is compared by the clock")
        end()
    }

    func end() {
        let token = state.withLock { state in
            defer { state.token = nil }
            return state.token
        }
        // Where there are no watches there is none to remove.
        if let token { try? FileWatch.shared().remove(token) }
    }
}
