import Base
import Cryptography
import Glibc
import Posix
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

enum Known {
    static func server(_ number: UInt8 = 1) throws -> ServerAddress {
        try #require(
            ServerAddress(
                fingerprint: [UInt8](repeating: number, count: 32), hosts: ["127.0.0.\(number)"], port: 5223))
    }

    /// The program's times, a thousand times shorter.
    static var times: AgentTimes {
        var times = AgentTimes()
        times.network = RetryPolicy(first: .milliseconds(2), maxDelay: .milliseconds(20), tries: .max)
        times.fullQueue = RetryPolicy(first: .milliseconds(300), maxDelay: .seconds(20), tries: .max)
        times.refusal = RetryPolicy(first: .milliseconds(2), maxDelay: .milliseconds(20), tries: .max)
        times.goneAfter = .milliseconds(40)
        times.emptying = RetryPolicy(first: .milliseconds(2), maxDelay: .milliseconds(50), tries: .max)
        times.store = RetryPolicy(first: .milliseconds(5), maxDelay: .milliseconds(50), tries: .max)
        times.lookAgain = .milliseconds(100)
        return times
    }
}

/// Servers that support the sudden end of a client process.
protocol EndingServers: QueueServers {
    func end() async
}

/// A boot clock that only tests advance.
final class ManualClock: BootClock {
    private let shown = Lock(BootReading(boot: "first", nanoseconds: 1_000_000_000_000))

    func reading() -> BootReading { shown.withLock { $0 } }

    func advance(by duration: Duration) {
        shown.withLock {
            $0.nanoseconds = ElapsedTime(nanoseconds: $0.nanoseconds).advanced(by: duration).nanoseconds
        }
    }

    /// Simulates a reboot after any time off.
    func restartMachine(as boot: String) {
        shown.withLock { $0 = BootReading(boot: boot, nanoseconds: 5_000_000_000) }
    }
}

/// A user with an agent and an application that records events. The agent can be killed at any moment and
/// restarted on the same database.
final class Person: Sendable {
    let folder: TemporaryFolder
    let relay: MemoryRelay
    let settings: AgentSettings
    let clock: any BootClock
    private let kem: Lock<(any KEM)?>
    /// Events processed by the application, once each.
    let diary = Diary()
    private let running = Lock<(agent: Agent, servers: any EndingServers, listening: Task<Void, Never>)?>(
        nil, rank: .collection)
    /// Real connections instead of the in-memory relay.
    private let makeServers: (@Sendable () -> any EndingServers)?
    /// Requests, replies and events left until the process is killed.
    private let remaining = Lock<Int?>(nil)

    init(
        _ relay: MemoryRelay, servers: [UInt8] = [1], postQuantum: Bool = false, kem: (any KEM)? = nil,
        clock: any BootClock = SystemBootClock(), times: AgentTimes = Known.times,
        connections: (server: ServerAddress, make: @Sendable () -> any EndingServers)? = nil
    ) async throws {
        folder = try TemporaryFolder()
        self.relay = relay
        makeServers = connections?.make
        self.kem = Lock(kem)
        self.clock = clock
        settings = AgentSettings(
            servers: try connections.map { [$0.server] } ?? servers.map { try Known.server($0) },
            postQuantum: postQuantum, times: times)
        try await start()
    }

    /// Replaces the database; nil removes it. The agent must have ended.
    func replaceDatabase(by copy: [UInt8]?) throws {
        for name in try folder.names() { unlink(folder.path(name)) }
        if let copy { try folder.write(copy, to: "connections.db") }
    }

    /// Sets the KEM of the next start; nil if uninstalled.
    func setKEM(_ kem: (any KEM)?) { self.kem.withLock { $0 = kem } }

    var path: String { "\(folder.path)/connections.db" }
    /// The current agent, or the last one.
    var agent: Agent { running.withLock { $0!.agent } }

    /// - Parameters:
    ///   - takes: whether the application acknowledges events.
    ///   - event: last event processed by the application.
    ///   - isRestored: whether the database is known to be an old copy.
    func start(takes: Bool = true, after event: Int64 = 0, isRestored: Bool = false) async throws {
        let servers = makeServers?() ?? MemoryServers(relay) { [weak self] in self?.pass() }
        let agent = try Agent(
            path: path, key: nil, servers: servers, settings: settings, kem: kem.withLock { $0 }, clock: clock
        )
        try await agent.start(after: event, isRestored: isRestored)
        let diary = diary
        let listening = Task { [weak self] in
            for await event in agent.events {
                await diary.take(event)
                self?.pass()
                // After a kill, the next process gets the event again.
                if takes { try? await agent.acknowledge(event: event.number, withReceipt: true) }
                self?.pass()
            }
        }
        running.withLock { $0 = (agent, servers, listening) }
    }

    /// Kills the process. Only committed data remains.
    func end() async {
        guard let was = running.withLock({ $0 }) else { return }
        await was.servers.end()
        was.listening.cancel()
        await was.agent.stop()
    }

    func restart() async throws {
        await end()
        try await start()
    }

    /// Kills the process after this many steps; nil never.
    func end(after count: Int?) { remaining.withLock { $0 = count } }

    /// Whether a planned kill is still to come.
    var willEnd: Bool { remaining.withLock { $0 != nil } }

    /// Runs `body`, and again in the next process after a kill.
    func untilItWorks<Result: Sendable>(_ body: (Agent) async throws -> Result) async throws -> Result {
        while true {
            do {
                return try await body(agent)
            } catch let error as AgentError
                where [.stopped, .store, .serverUnreachable].contains(error.code)
            {
                // Wait for the restart or the network.
                try await wait(until: "the process runs", within: .seconds(60)) { agent.isRunning }
            }
        }
    }

    private func pass() {
        let ends = remaining.withLock { remaining in
            guard let left = remaining else { return false }
            remaining = max(left - 1, 0)
            return left == 0
        }
        guard ends else { return }
        // Nothing reaches the database from now on.
        running.withLock { $0?.agent }?.endAtOnce()
        remaining.withLock { $0 = nil }
    }
}

/// Recorded events and their waiters.
actor Diary {
    private(set) var events: [AgentEvent] = []
    private(set) var lastNumber: Int64 = 0
    private var waiters: [(isThere: ([AgentEvent]) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
        []
    private(set) var repetitions = 0
    private var received = 0
    /// Waiters for counts do not scan all events.
    private var bodyWaiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func take(_ event: AgentEvent) {
        guard event.number > lastNumber else {
            repetitions += 1
            return
        }
        lastNumber = event.number
        events.append(event)
        if case .received = event.content { received += 1 }
        let ready = waiters.filter { $0.isThere(events) }
        if !ready.isEmpty { waiters.removeAll { $0.isThere(events) } }
        for waiter in ready { waiter.continuation.resume() }
        for waiter in bodyWaiters where waiter.count <= received { waiter.continuation.resume() }
        bodyWaiters.removeAll { $0.count <= received }
    }

    func wait(_ isThere: @escaping @Sendable ([AgentEvent]) -> Bool) async {
        if isThere(events) { return }
        let watch = watchProgress()
        await withCheckedContinuation { waiters.append((isThere, $0)) }
        watch.cancel()
    }

    /// Fails waiters after minutes without an event, so that the test ends.
    private func watchProgress() -> Task<Void, Never> {
        Task {
            var told = -1
            while !Task.isCancelled, told != events.count + repetitions {
                told = events.count + repetitions
                // Cancelled: the wait is over.
                try? await Task.sleep(for: .seconds(180))
            }
            if !Task.isCancelled { giveUp() }
        }
    }

    private func giveUp() {
        Issue.record("an agent told nothing for three minutes while something was waited for")
        for waiter in waiters { waiter.continuation.resume() }
        for waiter in bodyWaiters { waiter.continuation.resume() }
        waiters = []
        bodyWaiters = []
    }

    /// Waits for the first event with a value and returns the value.
    func first<Value: Sendable>(_ value: @escaping @Sendable (AgentEvent) -> Value?) async -> Value {
        await wait { $0.contains { value($0) != nil } }
        return events.lazy.compactMap(value).first!
    }

    /// Restarts event numbers for a restored database.
    func restore() { lastNumber = 0 }

    /// Contents for a backup.
    var content: (events: [AgentEvent], lastNumber: Int64) { (events, lastNumber) }

    /// Restores the contents of a backup.
    func putBack(_ content: (events: [AgentEvent], lastNumber: Int64)) {
        (events, lastNumber) = content
        received = bodies().count
    }

    var integrities: [MessageIntegrity] {
        events.compactMap { if case .received(let message) = $0.content { message.integrity } else { nil } }
    }

    func bodies(of connection: ConnectionID? = nil) -> [[UInt8]] {
        events.compactMap { event in
            guard connection == nil || event.connection == connection,
                case .received(let message) = event.content
            else { return nil }
            return message.body
        }
    }

    func waitForBodies(_ count: Int) async {
        if received >= count { return }
        let watch = watchProgress()
        await withCheckedContinuation { bodyWaiters.append((count, $0)) }
        watch.cancel()
    }
}

extension Agent {
    /// Whether a message was encrypted.
    func isTried(_ number: Int64) async throws -> Bool {
        try await stored { try $0.outgoing.item(number)?.prepared != nil }
    }
}

extension AgentEvent {
    var isConnected: Bool { if case .connected = content { true } else { false } }

    var request: (id: ContactRequestID, information: [UInt8])? {
        if case .requested(let id, let information) = content { (id, information) } else { nil }
    }

    var condition: ConnectionCondition? {
        if case .conditionChanged(let condition) = content { condition } else { nil }
    }
}

/// Two connected people, with the connection's id for each.
struct Couple {
    let inviter: Person
    let joiner: Person
    let toJoiner: ConnectionID
    let toInviter: ConnectionID

    init(_ relay: MemoryRelay, inviter: Person? = nil, joiner: Person? = nil, linkData: [UInt8]? = nil)
        async throws
    {
        self.inviter = try await {
            if let inviter { inviter } else { try await Person(relay, servers: [1, 3]) }
        }()
        self.joiner = try await {
            if let joiner { joiner } else { try await Person(relay, servers: [2, 4]) }
        }()
        let invited = try await self.inviter.agent.invite(
            Invitation(
                kind: .oneTime, server: Known.server(1), information: bytes("inviter"), linkData: linkData))
        toJoiner = invited.connection
        toInviter = try await self.joiner.agent.join(
            link: invited.links.short?.link ?? invited.links.full.link, information: bytes("joiner"),
            confirmation: [])
        let (own, other) = (toJoiner, toInviter)
        await self.inviter.diary.wait { $0.contains { $0.connection == own && $0.isConnected } }
        await self.joiner.diary.wait { $0.contains { $0.connection == other && $0.isConnected } }
    }

    /// An already connected couple.
    init(inviter: Person, joiner: Person, toJoiner: ConnectionID, toInviter: ConnectionID) {
        (self.inviter, self.joiner, self.toJoiner, self.toInviter) = (inviter, joiner, toJoiner, toInviter)
    }

    /// Connects through an existing link.
    init(inviter: Person, joiner: Person, toJoiner: ConnectionID, link: String) async throws {
        (self.inviter, self.joiner, self.toJoiner) = (inviter, joiner, toJoiner)
        toInviter = try await joiner.agent.join(
            link: link, information: bytes("joiner"), confirmation: [])
        await inviter.diary.wait { $0.contains { $0.connection == toJoiner && $0.isConnected } }
        let other = toInviter
        await joiner.diary.wait { $0.contains { $0.connection == other && $0.isConnected } }
    }

    func end() async {
        await inviter.end()
        await joiner.end()
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
