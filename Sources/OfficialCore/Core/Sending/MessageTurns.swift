import Base

/// Who sends a message is alone with it: whoever has the same one comes after, and finds what became of it.
final class MessageTurns: Sendable {
    /// Those who wait, for each message that somebody has.
    private let waiting = Lock<[String: [CheckedContinuation<Void, Never>]]>([:])

    func run<Result, Failure: Error>(
        _ message: String, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                if waiting[message]?.append(continuation) != nil { return false }
                waiting[message] = []
                return true
            }
            if isFree { continuation.resume() }
        }
        defer { next(message) }
        return try await body()
    }

    private func next(_ message: String) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard waiting[message]?.isEmpty == false else {
                waiting[message] = nil
                return nil
            }
            return waiting[message]?.removeFirst()
        }
        next?.resume()
    }
}
