import Base
import ChatCore
import Posix

/// Which files are received to their end and kept whether or not somebody reads them: those that are pinned, and
/// those that were read past their first chunk and are not finished. Any thread.
final class RetentionRequests: Sendable {
    private struct State {
        var pinned: Set<FileID>
        var unfinished: Set<FileID>
        /// Somebody is about to save which files are unfinished.
        var isSaving = false
    }

    /// Files that come in a moment are never saved; of a mount that is killed, only what was read in its last
    /// moment is forgotten.
    private static let saveDelay = Duration.milliseconds(500)

    private let list: RetentionList?
    private let state: Lock<State>

    /// - Parameters:
    ///   - list: where it is remembered; without, it is for this object's life.
    ///   - finishesWhatWasRead: whether what an earlier mount left unfinished is to be finished.
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

    /// Durable when it returns.
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

    /// `save` follows.
    func setUnfinished(_ file: FileID, _ isUnfinished: Bool) {
        state.withLock { state in
            if isUnfinished { state.unfinished.insert(file) } else { state.unfinished.remove(file) }
        }
    }

    /// Remembers a little later which files are unfinished.
    func save(in tasks: TaskSet) {
        let begins = state.withLock { state in
            defer { state.isSaving = true }
            return !state.isSaving
        }
        guard begins, let list else { return }
        tasks.spawn { [self] in
            // The end cancels this, and then waits for it.
            try? await Task.sleep(for: Self.saveDelay)
            state.withLock { $0.isSaving = false }
            do throws(HydrationError) {
                try await list.saveUnfinished { [self] in unfinished }
            } catch {
                Log("hydration").warning(
                    "what is unfinished is not remembered for the next mount: \(error.sentence)")
            }
        }
    }
}
