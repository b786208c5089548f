import Base
import Glibc
import Posix

/// Reports changes of system services through a process on the system bus (`SystemBusProcess`). Without a bus
/// or the services, it reports none, and the connection counts as not metered. Reconnects to a lost bus, with
/// a delay of one second that grows to five minutes.
///
/// Uses one thread from `start` on. Thread-safe.
public final class SystemWatch: Sendable {
    private struct State {
        var isMetered = false
        var isRunning = false
        /// True from the notice of sleep to that of waking.
        var isSleeping = false
        /// The thread sends this request.
        var isReady = false
        var isStopped = false
    }

    private let address: String?
    private let executable: String
    private let state = Lock(State())
    private let wakeUp: WakeUp
    private let broadcaster = Broadcaster<SystemNotice>()

    /// - Parameters:
    ///   - address: The D-Bus address of the bus, or nil.
    ///   - executable: The program that runs `SystemBusProcess` for its word.
    /// - Throws: An error if no descriptor is free.
    public init(
        address: String? = BusAddress.system(), executable: String = "/proc/self/exe"
    ) throws(SystemError) {
        self.address = address
        self.executable = executable
        wakeUp = try WakeUp()
    }

    public var isMetered: Bool { state.withLock { $0.isMetered } }

    /// Returns changes from now on; `metered` only when it changes. Ends with `stop`.
    public func notices() -> AsyncStream<SystemNotice> { broadcaster.subscribe() }

    private static let retry = RetryPolicy(first: .seconds(1), maxDelay: .seconds(300), tries: .max)

    /// Starts listening unless it runs. Without a bus it does nothing and may be called again. Returns after
    /// the first reply or one second. Blocks.
    public func start() {
        guard let address else { return }
        let begins = state.withLock { state in
            guard !state.isRunning, !state.isStopped else { return false }
            state.isRunning = true
            return true
        }
        guard begins else { return }
        do throws(SystemError) {
            let first = connect(to: address)
            if first == nil { take(nil) }
            try Thread.begin("system-watch") { [weak self, wakeUp] in
                Self.follow(address, first, wakeUp) { self }
            }
        } catch {
            Log("system").debug("system notices not available: error=\(error.sentence)")
            state.withLock { $0.isRunning = false }
            take(nil)
        }
    }

    /// Returns nil if there is no bus. Blocks for the start of a process and at most one second.
    private func connect(to address: String) -> BusChild? {
        do throws(SystemError) {
            let child = try BusChild(
                SystemBusProcess.word, of: executable, environment: ["DBUS_SYSTEM_BUS_ADDRESS": address])
            return hearFirst(child) ? child : nil
        } catch {
            Log("system").debug("system notices not available: error=\(error.sentence)")
            return nil
        }
    }

    /// Lets the machine sleep after the notice `sleeping`.
    public func readyToSleep() {
        state.withLock { $0.isReady = true }
        wakeUp.notify()
    }

    /// Ends the thread and the process.
    public func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.notify()
        broadcaster.finish()
    }

    deinit { stop() }

    // MARK: - The conversation

    /// Returns false if the process has ended.
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

    /// Runs until the watch is stopped or released.
    private static func follow(
        _ address: String, _ first: BusChild?, _ wakeUp: WakeUp, _ watch: () -> SystemWatch?
    ) {
        var (child, tries) = (first, 1)
        while true {
            if let present = child {
                tries = 1
                guard listen(present, wakeUp, watch) else { return }
                child = nil
            }
            tries += 1
            let delay = retry.delay(beforeTry: tries, jitter: 0) ?? retry.maxDelay
            var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&requests, milliseconds: Int32(clamping: Int(delay / .milliseconds(1))))
            wakeUp.clear()
            guard let watch = watch(), !watch.state.withLock({ $0.isStopped }) else { return }
            child = watch.connect(to: address)
        }
    }

    /// Runs until the process ends. Returns false if the watch is stopped or released.
    private static func listen(
        _ child: BusChild, _ wakeUp: WakeUp, _ watch: () -> SystemWatch?
    ) -> Bool {
        while true {
            // Cleared before the state is read, so that later requests end the next wait.
            wakeUp.clear()
            do {
                guard let watch = watch(), !watch.state.withLock({ $0.isStopped }) else { return false }
                guard watch.exchange(child) else {
                    watch.take(nil)
                    return true
                }
            }
            // All complete frames were read, so wait for more.
            var requests = [
                pollfd(fd: child.output.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&requests, milliseconds: -1)
        }
    }

    /// Returns false if the process has ended.
    private func exchange(_ child: BusChild) -> Bool {
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

    /// - Parameter notice: A notice, or nil after the process has ended.
    private func take(_ notice: SystemNotice?) {
        let told = state.withLock { state -> [SystemNotice] in
            switch notice {
            case .sessionLocked: return [.sessionLocked]
            case .sleeping, .awake:
                state.isSleeping = notice == .sleeping
                return notice.map { [$0] } ?? []
            case .metered(let says):
                defer { state.isMetered = says }
                return state.isMetered == says ? [] : [.metered(says)]
            case nil:
                let missed: [SystemNotice] = state.isSleeping ? [.awake] : []
                defer { (state.isMetered, state.isSleeping) = (false, false) }
                return missed + (state.isMetered ? [.metered(false)] : [])
            }
        }
        for notice in told { broadcaster.send(notice) }
    }
}
