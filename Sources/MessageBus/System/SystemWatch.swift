import Base
import Glibc
import Posix

/// What services of the system say, through a process on the system bus (`SystemBusProcess`). Where there is no bus,
/// or no such service, nothing is said, and the connection counts as not metered.
///
/// One thread, from `start` on, which sleeps until something is said. Any thread may ask.
public final class SystemWatch: Sendable {
    private struct State {
        var isMetered = false
        var isRunning = false
        /// Sent by the thread.
        var isReady = false
        var isStopped = false
    }

    private let address: String?
    private let executable: String
    private let state = Lock(State())
    private let wakeUp: WakeUp
    private let broadcaster = Broadcaster<SystemNotice>()

    /// - Parameters:
    ///   - address: of the bus, as D-Bus writes it; nil where there is none.
    ///   - executable: has `SystemBusProcess` behind its word.
    /// - Throws: where there is no descriptor for it.
    public init(
        address: String? = BusAddress.system(), executable: String = "/proc/self/exe"
    ) throws(SystemError) {
        self.address = address
        self.executable = executable
        wakeUp = try WakeUp()
    }

    public var isMetered: Bool { state.withLock { $0.isMetered } }

    /// What changes from now on, `metered` only when it is another. Ends with `stop`.
    public func notices() -> AsyncStream<SystemNotice> { broadcaster.subscribe() }

    /// Listens from now on, unless it does already. Where there is no bus nothing happens, and it may be tried again.
    /// Returns when the first answer is there, or after a second. Blocks.
    public func start() {
        guard let address else { return }
        let begins = state.withLock { state in
            guard !state.isRunning, !state.isStopped else { return false }
            state.isRunning = true
            return true
        }
        guard begins else { return }
        do throws(SystemError) {
            let child = try BusChild(
                SystemBusProcess.word, of: executable, environment: ["DBUS_SYSTEM_BUS_ADDRESS": address])
            guard hearFirst(child) else { return take(nil) }
            try Thread.begin("system-watch") { [weak self, wakeUp] in Self.listen(child, wakeUp) { self } }
        } catch {
            Log("system").debug("what the system says is not heard: \(error.sentence)")
            take(nil)
        }
    }

    /// After `sleeping`: the machine need not wait any longer.
    public func readyToSleep() {
        state.withLock { $0.isReady = true }
        wakeUp.notify()
    }

    /// The thread ends, and the process.
    public func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.notify()
        broadcaster.finish()
    }

    deinit { stop() }

    // MARK: - The conversation

    /// False when the process has ended.
    private func hearFirst(_ child: BusChild) -> Bool {
        let deadline = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < deadline {
            switch child.receive() {
            case .ended: return false
            case .frame(let bytes):
                guard let notice = SystemNotice(encoded: bytes) else { return false }
                take(notice)
                if case .metered = notice { return true }
            case .nothing:
                var requests = [pollfd(fd: child.output.descriptor, events: Int16(POLLIN), revents: 0)]
                poll(&requests, milliseconds: 50)
            }
        }
        return true
    }

    /// - Parameter watch: nil when nobody has it any more.
    private static func listen(_ child: BusChild, _ wakeUp: WakeUp, _ watch: () -> SystemWatch?) {
        while true {
            var requests = [
                pollfd(fd: child.output.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&requests, milliseconds: -1)
            guard let watch = watch(), !watch.state.withLock({ $0.isStopped }) else { return }
            guard watch.exchange(child) else { return watch.take(nil) }
        }
    }

    /// False when the process has ended.
    private func exchange(_ child: BusChild) -> Bool {
        wakeUp.clear()
        let isReady = state.withLock { state in
            defer { state.isReady = false }
            return state.isReady
        }
        if isReady { _ = child.send(SystemBusProcess.readyToSleep) }
        while true {
            switch child.receive() {
            case .nothing: return true
            case .ended: return false
            case .frame(let bytes):
                guard let notice = SystemNotice(encoded: bytes) else { return false }
                take(notice)
            }
        }
    }

    /// - Parameter notice: nil when nobody says anything any more.
    private func take(_ notice: SystemNotice?) {
        let isNews = state.withLock { state in
            if notice == nil { state.isRunning = false }
            let isMetered: Bool
            switch notice {
            case .sleeping, .awake: return true
            case .metered(let says): isMetered = says
            case nil: isMetered = false
            }
            defer { state.isMetered = isMetered }
            return state.isMetered != isMetered
        }
        if isNews { broadcaster.send(notice ?? .metered(false)) }
    }
}
