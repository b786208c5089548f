import Base

/// Commands to a phone that are carried out in the order in which they were made: each waits for the answer to the one
/// before. Any task.
final class PhoneLane: Sendable {
    private let order = AsyncSemaphore(1)

    /// Whether a command was given to the session. One that was given up before that is never given.
    private enum Fate {
        case waiting
        case begun
        case abandoned
    }

    /// - Parameters:
    ///   - send: makes the request and returns its answer.
    ///   - late: gets an answer for which nobody waits any more.
    /// - Throws: what `send` throws; `.disconnected` where the time was over before its turn came, `.timeout` and
    ///   `.cancelled` where nothing is known of it.
    func request(
        timeout: Duration,
        _ send: @escaping @Sendable () async throws(OfficialCoreError) -> APIResponse,
        late: @escaping @Sendable (APIResponse) -> Void
    ) async throws(OfficialCoreError) -> APIResponse {
        let fate = Lock(Fate.waiting)
        let pending = PendingRequests(refusal: nil)
        do throws(OfficialCoreError) {
            return try await pending.request(timeout: timeout) { name in
                _ = Task { [order] in
                    guard await order.acquire() else { return }
                    defer { order.release() }
                    let begins = fate.withLock { fate in
                        if fate == .waiting { fate = .begun }
                        return fate == .begun
                    }
                    guard begins else { return }
                    let outcome = await Self.outcome(send)
                    if !pending.finish(name, outcome), case .success(let response) = outcome {
                        late(response)
                    }
                }
            }
        } catch {
            guard error.code == .timeout || error.code == .cancelled else { throw error }
            let isUnsent = fate.withLock { fate in
                if fate == .waiting { fate = .abandoned }
                return fate == .abandoned
            }
            guard isUnsent else { throw error }
            throw OfficialCoreError(
                .disconnected, "The phone did not get to a command in time; nothing of it was sent.",
                cause: error)
        }
    }

    private static func outcome(
        _ send: @Sendable () async throws(OfficialCoreError) -> APIResponse
    ) async -> PendingRequests.Outcome {
        do throws(OfficialCoreError) {
            return .success(try await send())
        } catch {
            return .failure(error)
        }
    }
}
