import Base

/// Suspends and resumes a core that ChatFS runs: a suspended core does not use the network. A core started by
/// another program is unaffected. Any task.
final class CoreSuspension: Sendable {
    private struct State {
        var isWanted = false
        /// The last acknowledged state; nil if unknown after a lost answer or a restart.
        var isSuspended: Bool? = false
        /// Waits for the core's event that it is suspended.
        var listener: AsyncSemaphore?
    }

    private let transport: any OfficialTransport
    private let held: HeldCommands
    private let isOurs: Bool
    /// Maximum wait for running commands; without their answers a send would be in doubt.
    private let timeout: Duration
    private let state = Lock(State())
    /// Serialises changes.
    private let order = AsyncSemaphore(1)

    /// Time that the core gets to finish its work.
    private static let grace = Duration.seconds(2)
    private static let attempts = 3

    init(
        _ transport: any OfficialTransport, _ held: HeldCommands, _ settings: OfficialCoreSettings
    ) {
        (self.transport, self.held) = (transport, held)
        isOurs = settings.ownership != .attached
        timeout = settings.suspensionTimeout
    }

    /// Returns when the core is suspended or the timeout has passed.
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

    /// Handles a new connection, to the same or a restarted core.
    func noteConnection() async {
        let mayDiffer = state.withLock { state in
            guard state.isWanted || state.isSuspended != false else { return false }
            state.isSuspended = nil
            return true
        }
        if mayDiffer { await settle() }
    }

    /// Handles the core's event that it is suspended.
    func noteSuspended() { state.withLock { $0.listener }?.release() }

    /// Releases held commands, which then fail like the connection.
    func end() { held.letGo() }

    // MARK: - Commands

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
                log.notice("core not \(change): error=\(error.sentence)")
                // The next connection retries it.
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
            log.information("core suspension not confirmed")
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
