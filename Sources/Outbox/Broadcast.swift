import Base

/// One source, many listeners; each stream holds everything since it was opened until it is dropped.
final class Broadcast<Element: Sendable>: Sendable {
    private let listeners = Lock((next: 0, open: [Int: AsyncStream<Element>.Continuation]()))

    func stream() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        let number = listeners.withLock { listeners in
            listeners.next += 1
            listeners.open[listeners.next] = continuation
            return listeners.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.listeners.withLock { _ = $0.open.removeValue(forKey: number) }
        }
        return stream
    }

    func send(_ element: Element) {
        for continuation in listeners.withLock({ Array($0.open.values) }) { continuation.yield(element) }
    }

    func finish() {
        for continuation in listeners.withLock({ Array($0.open.values) }) { continuation.finish() }
    }
}
