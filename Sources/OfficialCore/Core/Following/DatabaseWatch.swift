import Base
import ChatCore
import Glibc
import Posix

/// When the core is compared with the index. A change (an event, a write to the core's database) leads to one
/// look some seconds later, however many changes there are until then; without any, none is made. Only
/// where a change could go unnoticed the clock does it: the events of a program go to one of its clients
/// each, so another one beside this takes some, and of those only its database tells.
struct ReconciliationSchedule: Sendable {
    /// A look is planned and has not begun.
    var isPlanned = false
    var watch: FileWatch.Token?
    /// The database was written to since the last comparison.
    var wasWritten = false
    /// Comparisons that found a change of which the watch said nothing, one after the other.
    var missedChanges = 0
    /// Uploads were unfinished at the last look: whether the core forgot their end shows by looking again.
    var hasUploads = false
}

extension OfficialCore {
    /// A look at the newest within `lookInterval`.
    func planLook() {
        let (isFirst, looks) = state.withLock { state in
            defer { state.schedule.isPlanned = true }
            return (!state.schedule.isPlanned, state.looks)
        }
        guard isFirst, let looks else { return }
        Task { [weak self, interval = settings.lookInterval] in
            try? await Task.sleep(for: interval)
            self?.state.withLock { $0.schedule.isPlanned = false }
            looks.yield(.newest)
        }
    }

    func lookAtEverything() { state.withLock { $0.looks }?.yield(.whole) }

    /// Whether the next look comes without a change.
    var mustLookByTheClock: Bool {
        state.withLock { state in
            state.schedule.hasUploads || settings.ownership != .library && state.schedule.watch == nil
        }
    }

    // MARK: - The core's database

    /// Watches the file in which a program keeps its chats, where that is on this machine and open to this user.
    func watchDatabase() async throws(ChatError) {
        guard settings.ownership != .library, state.withLock({ $0.schedule.watch }) == nil,
            let path = try await databasePath()
        else { return }
        let written: @Sendable () -> Void = { [weak self] in self?.databaseWasWritten() }
        let token = await Self.pool.run { () -> FileWatch.Token? in
            do throws(SystemError) {
                return try FileWatch.shared().add(path, changed: written)
            } catch {
                log.information("the core's database cannot be watched: \(error.sentence)")
                return nil
            }
        }
        state.withLock { $0.schedule.watch = token }
    }

    /// nil from a core that answers no questions about its database, or keeps it elsewhere.
    private func databasePath() async throws(ChatError) -> String? {
        do throws(OfficialCoreError) {
            let question = "SELECT file FROM pragma_database_list WHERE name = 'main'"
            guard
                case .rows(let rows) = try await transport.request(
                    .query(question), lane: .background, timeout: .seconds(60)),
                rows.count == 2, rows[1].hasPrefix("/"), access(rows[1], R_OK) == 0
            else { return nil }
            return rows[1]
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    /// On the thread of the watch.
    private func databaseWasWritten() {
        state.withLock { $0.schedule.wasWritten = true }
        planLook()
    }

    /// The core has written: when the watch has missed that again and again it is of another file, such as one
    /// of the same name outside of the container in which the core runs.
    func doubtWatch() {
        let isWrong = state.withLock { state in
            state.schedule.missedChanges = state.schedule.wasWritten ? 0 : state.schedule.missedChanges + 1
            state.schedule.wasWritten = false
            return state.schedule.missedChanges >= 3
        }
        guard isWrong else { return }
        log.notice("the core's database is not the file of that name here: it is compared by the clock")
        unwatchDatabase()
    }

    func unwatchDatabase() {
        let token = state.withLock { state in
            defer { state.schedule.watch = nil }
            return state.schedule.watch
        }
        if let token { try? FileWatch.shared().remove(token) }
    }
}
