import Base

/// Sends commands to a phone in order: each waits for the answer to the previous one. Any task.
final class PhoneLane: Sendable {
    private let order = AsyncSemaphore(1)

    /// Whether a command was passed to the session. A command abandoned before that is never sent.
    private enum Fate {
        case waiting
        case begun
        case abandoned
    }

    /// - Parameters:
    ///   - send: Makes the request and returns its answer.
    ///   - late: Receives the answer of an expired request.
    /// - Throws: Errors of `send`; `.disconnected` if the timeout passed before its turn, so it was not sent;
    ///   `.timeout` and `.cancelled` if its outcome is unknown.
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
                .disconnected, "The phone did not answer earlier commands in time; this one was not sent.",
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
