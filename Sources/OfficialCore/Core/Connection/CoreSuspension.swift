import Base

/// Has a core of our own take nothing from the network and give nothing to it until it is activated. One that somebody
/// else started is left as it is. Any task.
final class CoreSuspension: Sendable {
    private struct State {
        var isWanted = false
        /// As the core was told; nil when it may be either: an answer was lost, or it was started anew.
        var isSuspended: Bool? = false
        /// Waits until the core says that it rests.
        var listener: AsyncSemaphore?
    }

    private let transport: any OfficialTransport
    private let held: HeldCommands
    private let isOurs: Bool
    /// Commands under way have their answers before: else a send would be in doubt.
    private let timeout: Duration
    private let state = Lock(State())
    /// One change after the other.
    private let order = AsyncSemaphore(1)

    /// How long the core may finish what it is at.
    private static let grace = Duration.seconds(2)
    private static let attempts = 3

    init(
        _ transport: any OfficialTransport, _ held: HeldCommands, _ settings: OfficialCoreSettings
    ) {
        (self.transport, self.held) = (transport, held)
        isOurs = settings.ownership != .attached
        timeout = settings.suspensionTimeout
    }

    /// Returns when the core rests, or has not said so in time.
    func suspend() async {
        guard isOurs else { return }
        state.withLock { $0.isWanted = true }
        held.hold()
        await held.waitForOthers(limit: timeout)
        await settle()
    }

    func resume() async {
        guard isOurs else { return }
        state.withLock { $0.isWanted = false }
        await settle()
        if state.withLock({ !$0.isWanted }) { held.letGo() }
    }

    /// There is a connection again, to the same process of the core or to its next one.
    func noteConnection() async {
        let mayDiffer = state.withLock { state in
            guard state.isWanted || state.isSuspended != false else { return false }
            state.isSuspended = nil
            return true
        }
        if mayDiffer { await settle() }
    }

    /// The core said that it rests.
    func noteSuspended() { state.withLock { $0.listener }?.release() }

    /// What waits for the network fails from now on as the connection does.
    func end() { held.letGo() }

    // MARK: - Telling

    private func settle() async {
        guard await order.acquire() else { return }
        defer { order.release() }
        for attempt in 1...Self.attempts {
            let (isWanted, isSuspended) = state.withLock { ($0.isWanted, $0.isSuspended) }
            if isSuspended == isWanted { return }
            do throws(OfficialCoreError) {
                try await isWanted ? rest() : activate()
            } catch {
                state.withLock { $0.isSuspended = nil }
                let change = isWanted ? "suspended" : "activated"
                log.notice("the SimpleX core could not be \(change): \(error.sentence)")
                // The next connection says it again.
                if error.code == .disconnected || error.code == .closed || attempt == Self.attempts { return }
                guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
            }
        }
    }

    private func rest() async throws(OfficialCoreError) {
        let listener = AsyncSemaphore(0)
        state.withLock { $0.listener = listener }
        defer { state.withLock { $0.listener = nil } }
        _ = try await transport.request(.suspend(Self.grace))
        state.withLock { $0.isSuspended = true }
        let timer = Task {
            guard (try? await Task.sleep(for: Self.grace * 2)) != nil else { return }
            log.information("the SimpleX core did not say that it rests")
            listener.release()
        }
        _ = await listener.acquire()
        timer.cancel()
    }

    private func activate() async throws(OfficialCoreError) {
        _ = try await transport.request(.activate)
        state.withLock { $0.isSuspended = false }
    }
}
