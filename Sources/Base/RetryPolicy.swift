/// The delays before retries: growing, with jitter.
public struct RetryPolicy: Sendable {
    /// The delay before the second attempt, and the maximum of doubling.
    public var first: Duration
    public var maxDelay: Duration
    /// The number of attempts, including the first. `Int.max` means no limit.
    public var tries: Int

    public init(first: Duration, maxDelay: Duration, tries: Int) {
        self.first = first
        self.maxDelay = maxDelay
        self.tries = tries
    }

    /// Returns the delay before attempt number `next` (2 is the first retry), or nil after the last one. Shortened at
    /// random by up to a quarter, so that many clients do not return together.
    public func delay(beforeTry next: Int, jitter: Double = .random(in: 0...0.25)) -> Duration? {
        guard next <= tries else { return nil }
        let doublings = min(max(next - 2, 0), 20)
        let delay = min(first * (1 << doublings), maxDelay)
        return delay * (1 - jitter)
    }

    /// Waits for the delay before attempt number `next`. Returns false after the last attempt, and at once if the task
    /// is cancelled.
    public func wait(beforeTry next: Int) async -> Bool {
        guard let time = delay(beforeTry: next) else { return false }
        return (try? await Task.sleep(for: time)) != nil
    }

    /// Makes attempts, with delays between them, while `attempt` returns true. Ends after the last attempt, and when
    /// the task is cancelled.
    public func repeatWhile(_ attempt: () async -> Bool) async {
        var number = 1
        while !Task.isCancelled, await attempt() {
            number += 1
            guard await wait(beforeTry: number) else { return }
        }
    }
}
