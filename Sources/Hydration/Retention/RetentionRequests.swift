import Base
import ChatCore
import Posix

/// The files to receive completely and keep without readers: pinned files, and unfinished ones that were read
/// beyond their first chunk. Thread-safe.
final class RetentionRequests: Sendable {
    private struct State {
        var pinned: Set<FileID>
        var unfinished: Set<FileID>
        /// True if a save of the unfinished files is pending.
        var isSaving = false
    }

    /// Files that complete sooner are never saved. A killed mount forgets only reads of its last moment.
    private static let saveDelay = Duration.milliseconds(500)

    private let list: RetentionList?
    private let state: Lock<State>

    /// - Parameters:
    ///   - list: Storage; if nil, requests last for this object's lifetime.
    ///   - finishesWhatWasRead: If true, unfinished files of earlier mounts are continued.
    init(_ list: RetentionList?, finishesWhatWasRead: Bool) {
        self.list = list
        state = Lock(
            State(
                pinned: list?.pinnedBefore ?? [],
                unfinished: finishesWhatWasRead ? list?.unfinishedBefore ?? [] : []))
    }

    func of(_ file: FileID) -> Retention {
        state.withLock { state in
            var retention: Retention = []
            if state.pinned.contains(file) { retention.insert(.pinned) }
            if state.unfinished.contains(file) { retention.insert(.unfinished) }
            return retention
        }
    }

    var pinned: Set<FileID> { state.withLock { $0.pinned } }
    var unfinished: Set<FileID> { state.withLock { $0.unfinished } }

    /// Pins or unpins a file durably.
    func setPinned(_ file: FileID, _ isPinned: Bool) async throws(HydrationError) {
        let wasPinned = state.withLock { state in
            isPinned
                ? !state.pinned.insert(file).inserted : state.pinned.remove(file) != nil
        }
        guard let list, wasPinned != isPinned else { return }
        do {
            try await list.savePinned { [self] in pinned }
        } catch {
            state.withLock { state in
                if wasPinned { state.pinned.insert(file) } else { state.pinned.remove(file) }
            }
            throw error
        }
    }

    /// Call `save` afterwards.
    func setUnfinished(_ file: FileID, _ isUnfinished: Bool) {
        state.withLock { state in
            if isUnfinished { state.unfinished.insert(file) } else { state.unfinished.remove(file) }
        }
    }

    /// Saves the unfinished files after `saveDelay`.
    func save(in tasks: TaskSet) {
        let begins = state.withLock { state in
            defer { state.isSaving = true }
            return !state.isSaving
        }
        guard begins, let list else { return }
        tasks.spawn { [self] in
            // Cancelled and awaited at shutdown.
            try? await Task.sleep(for: Self.saveDelay)
            state.withLock { $0.isSaving = false }
            do throws(HydrationError) {
                try await list.saveUnfinished { [self] in unfinished }
            } catch {
                Log("hydration").warning(
                    "unfinished files not saved for the next mount: error=\(error.sentence)")
            }
        }
    }
}
