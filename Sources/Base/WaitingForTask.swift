extension Task where Success: Sendable {
    /// Waits for the task without affecting it. Returns nil after `limit`, and at once if the waiting task is
    /// cancelled.
    public func result(within limit: Duration) async -> Result<Success, Failure>? {
        let waiting = Lock<CheckedContinuation<Result<Success, Failure>?, Never>?>(nil)
        let answer: @Sendable (Result<Success, Failure>?) -> Void = { result in
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: result)
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting.withLock { $0 = continuation }
                let alarm = Task<Void, Never> {
                    try? await Task<Never, Never>.sleep(for: limit)
                    answer(nil)
                }
                Task<Void, Never> {
                    answer(await self.result)
                    alarm.cancel()
                }
                if Task<Never, Never>.isCancelled { answer(nil) }
            }
        } onCancel: {
            answer(nil)
        }
    }
}
