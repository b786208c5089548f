import Base
import CLinux
import Glibc

/// A process other than a child, held by a descriptor (pidfd_open(2)). Reports its end and result even if its number
/// was reused. Safe to use from any thread.
///
///     let process = try WatchedProcess(number)
///     process.whenEnded(1) { … }
///     process.outcome            // nil while it runs
public final class WatchedProcess: Sendable {
    // In a struct: see `Lock`.
    private struct State {
        var outcome: ProcessOutcome?
        /// The time at which the end was noticed.
        var end: ContinuousClock.Instant?
        var listeners: [Int64: @Sendable () -> Void] = [:]
    }

    public let process: pid_t
    private let descriptor: OpenFile
    private let state = Lock(State())

    /// - Throws: As pidfd_open(2), ESRCH for a missing process; EINVAL for a thread that leads no process.
    public init(_ process: pid_t) throws(SystemError) {
        self.process = process
        descriptor = OpenFile(adopting: try check("watch a process") { chatfs_process_descriptor(process) })
        try ProcessWatch.shared().add(self, descriptor.descriptor)
    }

    /// Nil while it runs. Reads proc(5) if it has just ended.
    public var outcome: ProcessOutcome? {
        if let known = state.withLock({ $0.outcome }) { return known }
        var requests = [pollfd(fd: descriptor.descriptor, events: Int16(POLLIN), revents: 0)]
        guard poll(&requests, milliseconds: 0) > 0 else { return nil }
        let found = look()
        return state.withLock { state in
            // An earlier result may be better, because a process's remains vanish.
            if let known = state.outcome { return known }
            (state.outcome, state.end) = (found, .now)
            return found
        }
    }

    /// The time at which the end was noticed, usually some milliseconds later. Nil while it runs.
    public var end: ContinuousClock.Instant? {
        outcome == nil ? nil : state.withLock { $0.end }
    }

    /// The kernel reports the result after the process was reaped; `stat` shows it until then.
    private func look() -> ProcessOutcome {
        if let told = told() { return told }
        if let code = ProcessEnding.exitCode(ofEnded: process) { return ProcessOutcome(waitStatus: code) }
        return told() ?? .unknown
    }

    private func told() -> ProcessOutcome? {
        var status: Int32 = 0
        return chatfs_process_exit(descriptor.descriptor, &status) == 1
            ? ProcessOutcome(waitStatus: status) : nil
    }

    /// Calls `body` once after the end, on any thread; at once if it has ended. `body` must not block.
    /// - Parameter key: Identifies the listener; a later one with the same key replaces it.
    public func whenEnded(_ key: Int64, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners[key] = body }
        if outcome != nil { tell() }
    }

    /// Notes the end.
    fileprivate func ended() {
        _ = outcome
        tell()
    }

    private func tell() {
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            return state.listeners
        }
        for body in listeners.values { body() }
    }
}

/// The thread that waits for the ends of all watched processes.
private final class ProcessWatch: Sendable {
    private struct Entry {
        weak var process: WatchedProcess?
    }

    private struct State {
        var nextNumber: UInt64 = 0
        var entries: [UInt64: Entry] = [:]
        /// The number of entries after which those without a process are removed.
        var sweepsAt = 256
    }

    private let descriptor: Int32
    private let state = Lock(State())

    private static let instance = Lock<ProcessWatch?>(nil)

    /// Created by the first caller together with its thread.
    static func shared() throws(SystemError) -> ProcessWatch {
        try instance.withLock { instance throws(SystemError) in
            if let instance { return instance }
            let watch = try ProcessWatch()
            instance = watch
            return watch
        }
    }

    private init() throws(SystemError) {
        descriptor = try check("watch processes") { chatfs_epoll() }
        try Thread.begin("process-watch") { self.run() }
    }

    /// - Parameter descriptor: Closing it ends the watch.
    func add(_ process: WatchedProcess, _ descriptor: Int32) throws(SystemError) {
        let number = state.withLock { state in
            if state.entries.count >= state.sweepsAt {
                state.entries = state.entries.filter { $0.value.process != nil }
                state.sweepsAt = max(256, 2 * state.entries.count)
            }
            state.nextNumber += 1
            state.entries[state.nextNumber] = Entry(process: process)
            return state.nextNumber
        }
        try check("watch a process") { chatfs_epoll_add(self.descriptor, descriptor, number) }
    }

    private func run() {
        var numbers = [UInt64](repeating: 0, count: 64)
        while true {
            let count = chatfs_epoll_wait(descriptor, &numbers, 64)
            if count < 0 {
                // Only a lack of memory can fail here.
                if errno != EINTR { usleep(50_000) }
                continue
            }
            for number in numbers[..<Int(count)] {
                let process = state.withLock { $0.entries.removeValue(forKey: number)?.process }
                process?.ended()
            }
        }
    }
}
