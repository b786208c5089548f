import Base
import CLinux
import Posix
import Synchronization

/// Reduces an idle mount's memory. After a period without requests, returns free memory and the process's code pages to
/// the system: 25 MiB, of which little is used again. Needed pages come back from the page cache. No timer runs while
/// the mount is idle; a request costs one check of a flag.
final class IdleMemory: Sendable {
    private let isWatched = Atomic(false)
    private let rest: Duration
    private let giveBack: @Sendable () -> Void

    /// - Parameters:
    ///   - rest: Period without requests.
    ///   - giveBack: Called on a pool thread.
    init(
        after rest: Duration = .seconds(10),
        giveBack: @escaping @Sendable () -> Void = {
            chatfs_give_back_memory()
            chatfs_give_back_code()
        }
    ) {
        self.rest = rest
        self.giveBack = giveBack
    }

    /// Called for each counted request.
    func requestCame(_ counts: RequestCounts) {
        if isWatched.load(ordering: .relaxed) { return }
        guard !isWatched.exchange(true, ordering: .relaxed) else { return }
        Task { await watch(counts) }
    }

    private func watch(_ counts: RequestCounts) async {
        var before: UInt64
        repeat {
            before = counts.total
            // Never cancelled.
            try? await Task.sleep(for: rest)
        } while counts.total != before
        await ThreadPool.shared.run(giveBack)
        isWatched.store(false, ordering: .relaxed)
    }
}
