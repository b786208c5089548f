import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// The files of chats on their way from the core into the tree.
///
/// A mount begins with the names of its chats alone. The files of one are read when somebody looks into its
/// folder or news of it comes, and those of all others, one chat after the other, in the background: so a
/// mount of a hundred thousand files is there as soon as one of ten. Until a chat is read, whoever asks for a
/// name in it that is not known, or for a listing, waits for that; news of it waits too, so that what is
/// older never overwrites it.
final class FolderReading: Sendable {
    /// Chats that are being read.
    private let underWay = Lock<[ChatReference: Task<Void, any Error>]>([:])
    private let background = Lock<Task<Void, Never>?>(nil)

    /// The work on a chat: begun by the first who asks, ended for nobody who gives up.
    func work(on chat: ChatReference, _ body: @escaping @Sendable () async throws -> Void) -> Task<
        Void, any Error
    > {
        underWay.withLock { underWay in
            if let task = underWay[chat] { return task }
            let task = Task {
                defer { self.underWay.withLock { $0[chat] = nil } }
                try await body()
            }
            underWay[chat] = task
            return task
        }
    }

    func begin(_ body: @escaping @Sendable () async -> Void) {
        background.withLock { background in
            background = Task(priority: .utility) { await body() }
        }
    }

    /// As `finish`, for a while.
    func finish(within limit: Duration) async {
        _ = await background.withLock { $0 }?.result(within: limit)
    }

    /// Returns when all chats have been read, as far as they can be.
    func finish() async { await background.withLock { $0 }?.value }

    func cancel() { background.withLock { $0 }?.cancel() }
}
