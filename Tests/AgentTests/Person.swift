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

    /// As in the program, a thousand times faster.
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

/// Servers that are left as a process leaves them that ends.
protocol EndingServers: QueueServers {
    func end() async
}

/// A machine's clock that stands until it is moved.
final class ManualClock: BootClock {
    private let shown = Lock(BootReading(boot: "first", nanoseconds: 1_000_000_000_000))

    func reading() -> BootReading { shown.withLock { $0 } }

    func advance(by duration: Duration) {
        shown.withLock {
            $0.nanoseconds = ElapsedTime(nanoseconds: $0.nanoseconds).advanced(by: duration).nanoseconds
        }
    }

    /// The machine was off, however long, and has run for some seconds.
    func restartMachine(as boot: String) {
        shown.withLock { $0 = BootReading(boot: boot, nanoseconds: 5_000_000_000) }
    }
}

/// Somebody with an agent and an application, which writes down what it is told. The agent can end at any moment, as a
/// process does, and be started again on the same database.
final class Person: Sendable {
    let folder: TemporaryFolder
    let relay: MemoryRelay
    let settings: AgentSettings
    let clock: any BootClock
    private let kem: Lock<(any KEM)?>
    /// What the application has taken in, each event once.
    let diary = Diary()
    private let running = Lock<(agent: Agent, servers: any EndingServers, listening: Task<Void, Never>)?>(
        nil, rank: .collection)
    /// Over real connections instead of the relay in memory.
    private let makeServers: (@Sendable () -> any EndingServers)?
    /// So many requests, answers, and events before and after they are taken, until the process ends.
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

    /// Another database, or none, takes the place of the present one. The agent has ended.
    func replaceDatabase(by copy: [UInt8]?) throws {
        for name in try folder.names() { unlink(folder.path(name)) }
        if let copy { try folder.write(copy, to: "connections.db") }
    }

    /// For the next start: nil when the library is no longer installed.
    func setKEM(_ kem: (any KEM)?) { self.kem.withLock { $0 = kem } }

    var path: String { "\(folder.path)/connections.db" }
    /// The present one, or the last that ended.
    var agent: Agent { running.withLock { $0!.agent } }

    /// - Parameters:
    ///   - takes: whether the application takes what it is told.
    ///   - event: the last one that it has seen.
    ///   - isRestored: the database is a copy of the past, and known to be.
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
                // A process that has ended takes it when it is told of it again.
                if takes { try? await agent.acknowledge(event: event.number, withReceipt: true) }
                self?.pass()
            }
        }
        running.withLock { $0 = (agent, servers, listening) }
    }

    /// The process ends here and now. What was committed stays, and nothing else.
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

    /// Has the process end after so many steps; nil: not at all.
    func end(after count: Int?) { remaining.withLock { $0 = count } }

    /// Whether the end was ordered, and has not come.
    var willEnd: Bool { remaining.withLock { $0 != nil } }

    /// Does something with the agent, again where its process has ended over it, in the next one.
    func untilItWorks<Result: Sendable>(_ body: (Agent) async throws -> Result) async throws -> Result {
        while true {
            do {
                return try await body(agent)
            } catch let error as AgentError
                where [.stopped, .store, .serverUnreachable].contains(error.code)
            {
                // Somebody starts it again, or the network is back.
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
        // Nothing more reaches the database from this moment on.
        running.withLock { $0?.agent }?.endAtOnce()
        remaining.withLock { $0 = nil }
    }
}

/// What an application keeps of events, and who waits for some.
actor Diary {
    private(set) var events: [AgentEvent] = []
    private(set) var lastNumber: Int64 = 0
    private var waiters: [(isThere: ([AgentEvent]) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
        []
    private(set) var repetitions = 0
    private var received = 0
    /// Who waits for very many looks through none of them.
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

    /// Nobody waits for ever: when nothing was told for minutes, nothing more comes, and the test fails and goes on.
    private func watchProgress() -> Task<Void, Never> {
        Task {
            var told = -1
            while !Task.isCancelled, told != events.count + repetitions {
                told = events.count + repetitions
                // Cancelled: what was waited for is there.
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

    /// Waits for the first event of a kind, and gives what is in it.
    func first<Value: Sendable>(_ value: @escaping @Sendable (AgentEvent) -> Value?) async -> Value {
        await wait { $0.contains { value($0) != nil } }
        return events.lazy.compactMap(value).first!
    }

    /// The numbers begin where those of a restored database do.
    func restore() { lastNumber = 0 }

    /// What it holds, for a backup of it.
    var content: (events: [AgentEvent], lastNumber: Int64) { (events, lastNumber) }

    /// It is what it was when this was made.
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
    /// Whether a message was encrypted, to be sent.
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

/// Two people who are connected, and what their connection is for each.
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

    /// Who are connected already.
    init(inviter: Person, joiner: Person, toJoiner: ConnectionID, toInviter: ConnectionID) {
        (self.inviter, self.joiner, self.toJoiner, self.toInviter) = (inviter, joiner, toJoiner, toInviter)
    }

    /// By a link that there is already.
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
