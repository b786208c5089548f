import Base

/// Commands that wait for their answer. Each ends exactly once: by its answer, its timeout, cancellation, or
/// the end of the connection.
final class PendingRequests: Sendable {
    typealias Outcome = Result<APIResponse, OfficialCoreError>

    private struct State {
        var next: UInt64 = 1
        var waiting: [String: CheckedContinuation<Outcome, Never>] = [:]
        /// Set permanently, or until `open`.
        var refusal: OfficialCoreError?
    }

    private let state: Lock<State>

    /// Refuses requests with `refusal` until `open`.
    init(refusal: OfficialCoreError?) { state = Lock(State(refusal: refusal)) }

    /// Adds a request and calls `send` at once with the name that identifies the answer.
    func request(
        timeout: Duration, send: @Sendable (String) throws(OfficialCoreError) -> Void
    ) async throws(OfficialCoreError) -> APIResponse {
        let name = state.withLock { state in
            defer { state.next += 1 }
            return String(state.next)
        }
        let outcome: Outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let refusal = state.withLock { state in
                    if state.refusal == nil { state.waiting[name] = continuation }
                    return state.refusal
                }
                if let refusal { return continuation.resume(returning: .failure(refusal)) }
                do throws(OfficialCoreError) {
                    try send(name)
                } catch {
                    finish(name, .failure(error))
                    return
                }
                if Task.isCancelled { finish(name, .failure(Self.cancelled)) }
                watch(name, timeout)
            }
        } onCancel: {
            finish(name, .failure(Self.cancelled))
        }
        return try outcome.get()
    }

    private func watch(_ name: String, _ timeout: Duration) {
        Task { [weak self] in
            try? await Task.sleep(for: timeout)
            self?.finish(
                name,
                .failure(OfficialCoreError(.timeout, "The SimpleX core did not answer in time.")))
        }
    }

    private static let cancelled = OfficialCoreError(.cancelled, "The command was cancelled.")

    /// Ends the request of this name. Returns false if it has already ended.
    @discardableResult
    func finish(_ name: String, _ outcome: Outcome) -> Bool {
        let continuation = state.withLock { $0.waiting.removeValue(forKey: name) }
        continuation?.resume(returning: outcome)
        return continuation != nil
    }

    func open() { state.withLock { $0.refusal = nil } }

    /// Ends all requests and refuses later ones with `refusal`, or with `error` if nil. Ended requests were
    /// passed to the connection, so their errors say that the core may have them.
    func fail(_ error: OfficialCoreError, later refusal: OfficialCoreError? = nil) {
        let waiting = state.withLock { state in
            state.refusal = refusal ?? error
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        let ending: OfficialCoreError =
            switch error.code {
            case .closed: OfficialCoreError(.interrupted, error.sentence)
            case .disconnected:
                OfficialCoreError(.broken, "The connection to the SimpleX core broke.", cause: error)
            default: error
            }
        for continuation in waiting { continuation.resume(returning: .failure(ending)) }
    }
}
