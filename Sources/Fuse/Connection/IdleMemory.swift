import Base
import CLinux
import Posix
import Synchronization

/// What a mount with nothing to do leaves in memory: when no request came for a while, free memory and the code of the
/// process, which is 25 MiB of which a few are ever used again, go back to the system. What is needed again comes
/// from the page cache. Between two such times nothing wakes up; requests pay one look at a flag.
final class IdleMemory: Sendable {
    private let isWatched = Atomic(false)
    private let rest: Duration
    private let giveBack: @Sendable () -> Void

    /// - Parameters:
    ///   - rest: how long no request may have come.
    ///   - giveBack: called on a pool thread.
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

    /// A request was counted.
    func requestCame(_ counts: RequestCounts) {
        if isWatched.load(ordering: .relaxed) { return }
        guard !isWatched.exchange(true, ordering: .relaxed) else { return }
        Task { await watch(counts) }
    }

    private func watch(_ counts: RequestCounts) async {
        var before: UInt64
        repeat {
            before = counts.total
            // Nobody cancels it.
            try? await Task.sleep(for: rest)
        } while counts.total != before
        await ThreadPool.shared.run(giveBack)
        isWatched.store(false, ordering: .relaxed)
    }
}
