import Base
import Posix

/// Events for the application, read from the database as it takes them: however many there are, few are in memory.
actor EventFeed {
    private let work: StoreWork
    private var buffer: ArraySlice<AgentEvent> = []
    private var lastGiven: Int64 = 0
    private var isFinished = false
    /// Whether there may be more than was read.
    private var hasMore = true
    private var waiter: CheckedContinuation<Void, Never>?
    private static let page = 64

    init(_ work: StoreWork) { self.work = work }

    /// The next event; nil when the agent has stopped, or nobody waits for it any more.
    func next() async -> AgentEvent? {
        while !isFinished, !Task.isCancelled {
            if let event = buffer.popFirst() {
                lastGiven = event.number
                return event
            }
            if hasMore {
                await read()
            } else {
                await wait()
            }
        }
        return nil
    }

    private func read() async {
        hasMore = false
        let after = lastGiven
        guard
            let page = await work.attempt(
                "read what happened",
                { try $0.read { try $0.events.readable(after: after, limit: Self.page) } })
        else {
            hasMore = true
            try? await Task.sleep(for: .seconds(1))
            return
        }
        if page.count == Self.page { hasMore = true }
        buffer = page.compactMap(\.event)[...]
        for lost in page where lost.event == nil { await passOver(lost.number) }
        // Where all of them are lost nothing is given that says where to go on.
        if buffer.isEmpty, let last = page.last { lastGiven = max(lastGiven, last.number) }
    }

    /// What cannot be read now never can, and does not stop what comes behind it.
    private func passOver(_ number: Int64) async {
        work.log.warning(
            "Something that happened to a connection was passed over: it is damaged in the database.")
        _ = await work.attempt("remove what is damaged") { store in
            try store.change { _ = try $0.events.take(number) }
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter?.resume()
                waiter = continuation
                if Task.isCancelled { wakeUp() }
            }
        } onCancel: {
            Task { await self.wakeUp() }
        }
    }

    private func wakeUp() {
        waiter?.resume()
        waiter = nil
    }

    /// There is something new.
    func announce() {
        hasMore = true
        wakeUp()
    }

    func finish() {
        isFinished = true
        wakeUp()
    }
}
