import Base
import ChatCore
import Hydration
import Namespace
import Outbox
import Posix

/// What happens without anybody touching the mount: messages come and go, transfers move, drafts
/// become messages. Taken in one after the other.
enum News: Sendable {
    case core(ChatEvent)
    case outbox(DraftChange)
    case content(HydrationChange)
}

/// The one line that all news stands in, and the task that takes it.
public final class NewsFeed: Sendable {
    private let fileSystem: FileSystem
    private let news: AsyncStream<News>
    private let line: AsyncStream<News>.Continuation
    private let fromOutbox: Task<Void, Never>
    private let fromOthers: [Task<Void, Never>]
    private let following = Lock<Task<Void, Never>?>(nil)

    /// Opens the sources before the first look, so that nothing falls between.
    init(of fileSystem: FileSystem) {
        self.fileSystem = fileSystem
        let (news, line) = AsyncStream.makeStream(of: News.self)
        self.news = news
        self.line = line
        let events = fileSystem.core.events()
        let changes = fileSystem.outbox.draftChanges()
        let conditions = fileSystem.contents.changes()
        fromOutbox = Task { for await change in changes { line.yield(.outbox(change)) } }
        fromOthers = [
            Task { for await event in events { line.yield(.core(event)) } },
            Task { for await change in conditions { line.yield(.content(change)) } },
        ]
    }

    func start(with chats: [Chat]) {
        fileSystem.readInBackground(chats.map(\.reference))
        let task = Task { [fileSystem, news] in for await one in news { await fileSystem.take(one) } }
        following.withLock { $0 = task }
    }

    /// Takes what is in line and stops. The outbox must have been shut down: what it handed over last
    /// then still gets its name in the index.
    public func finish() async {
        await fromOutbox.value
        for task in fromOthers { task.cancel() }
        line.finish()
        fileSystem.reading.cancel()
        await following.withLock { $0 }?.value
        await fileSystem.everythingShown()
    }
}
