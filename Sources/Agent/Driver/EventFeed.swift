import Base
import Posix

/// Reads events for the application from the database in pages, so that memory stays bounded.
actor EventFeed {
    private let work: StoreWork
    private var buffer: ArraySlice<AgentEvent> = []
    private var lastGiven: Int64 = 0
    private var isFinished = false
    /// Whether the database may hold unread events.
    private var hasMore = true
    private var waiter: CheckedContinuation<Void, Never>?
    private static let page = 64

    init(_ work: StoreWork) { self.work = work }

    /// Returns the next event; nil once the agent has stopped or the caller's task is cancelled.
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
                "read events",
                { try $0.read { try $0.events.readable(after: after, limit: Self.page) } })
        else {
            hasMore = true
            try? await Task.sleep(for: .seconds(1))
            return
        }
        if page.count == Self.page { hasMore = true }
        buffer = page.compactMap(\.event)[...]
        for lost in page where lost.event == nil { await passOver(lost.number) }
        // Skip a page in which no event is readable.
        if buffer.isEmpty, let last = page.last { lastGiven = max(lastGiven, last.number) }
    }

    /// Drops a damaged event, so that it does not block later ones.
    private func passOver(_ number: Int64) async {
        work.log.warning(
            "damaged event dropped: number=\(number)")
        _ = await work.attempt("delete damaged event") { store in
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

    /// Reports new events in the database.
    func announce() {
        hasMore = true
        wakeUp()
    }

    func finish() {
        isFinished = true
        wakeUp()
    }
}
