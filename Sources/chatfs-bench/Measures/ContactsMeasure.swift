import ChatCore
import EmbeddedCore
import Posix
import SMP

/// The cost of a profile by its number of contacts on the network.
struct ContactsMeasure: Measure {
    let name = "contacts"
    let abstract =
        "100 and 10,000 people on the network: start until messages come from all, memory"
    let limit = Duration.seconds(3600)

    func take(on stage: Stage) async throws -> [Row] {
        let relay = try await MessageRelay.start(on: stage)
        let acquaintances = try await Acquaintances(server: relay.server, on: stage)
        var rows: [Row] = []
        for count in stage.plan.contacts {
            try await acquaintances.meet(until: count)
            rows += try await acquaintances.measure()
        }
        return rows
    }
}

/// Two profiles that become contacts repeatedly, each time by a new link. Every contact has its own keys and queues, as
/// with different people.
private final class Acquaintances {
    private static let names = ["reader", "people"]
    /// A relay permits a connection a thousand new queues in an hour.
    private static let atOneOpening = 800
    private static let atOnce = 16
    /// A mount returns the memory of its start after ten seconds without a request.
    private static let untilIdle = Duration.seconds(12)

    private let stage: Stage
    private var count = 0

    init(server: ServerAddress, on stage: Stage) async throws {
        self.stage = stage
        for name in Self.names {
            let data = stage.path("data-\(name)")
            try await ThreadPool.shared.run {
                let directory = try DataDirectory(data)
                try directory.addMessagingServers([server], to: try directory.createProfile(name))
            }
        }
    }

    private func open(_ name: String) async throws -> EmbeddedCore {
        let data = stage.path("data-\(name)")
        return try await EmbeddedCore.open(
            try await ThreadPool.shared.run { try DataDirectory(data) }, profile: name)
    }

    /// Creates contacts up to this number.
    func meet(until end: Int) async throws {
        while count < end {
            let next = min(end, count + Self.atOneOpening)
            let (inviter, joiner) = (try await open(Self.names[0]), try await open(Self.names[1]))
            let missing = next - count
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<missing {
                    if number >= Self.atOnce { try await group.next() }
                    group.addTask { try await Self.meet(inviter, joiner) }
                }
                try await group.waitForAll()
            }
            await inviter.shutDown()
            await joiner.shutDown()
            count = next
            try stage.check()
        }
    }

    private static func meet(_ inviter: EmbeddedCore, _ joiner: EmbeddedCore) async throws {
        let invitation = try await inviter.invite()
        let joined = try await joiner.accept(invitation.link)
        let end = ContinuousClock.now + .seconds(120)
        while true {
            let there = try await inviter.contact(of: invitation.connection) != nil
            if there, try await joiner.contact(of: joined) != nil { return }
            guard ContinuousClock.now < end else {
                throw BenchError(.failed, "Two people did not become contacts.")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    // MARK: - Measuring

    func measure() async throws -> [Row] {
        var (ready, memory): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.plan.repetitions {
            try await stage.settle()
            let start = ContinuousClock.now
            let mount = try await mount()
            try await waitForAll(mount.process)
            ready.append((ContinuousClock.now - start) / .seconds(1))
            try await mount.figures.rest(on: stage)
            try await Task.sleep(for: Self.untilIdle)
            memory.append(try mount.figures.memory() / 1_048_576)
            await stage.end(mount.process)
        }
        let title = "with \(count) contacts"
        let isLarge = count > 1000
        return [
            Row(
                "contacts-start", "start \(title), until messages come from all queues", .seconds, ready,
                target: .atMost(10)),
            Row(
                "contacts-memory", "memory \(title), idle", .mebibytes, memory,
                target: .atMost(isLarge ? 100 : 25)),
        ]
    }

    private func mount() async throws -> Mounted {
        try await stage.mount(
            "contacts",
            ["--verbose", "--profile", Self.names[0], "--data", stage.path("data-\(Self.names[0])")])
    }

    /// Waits for the log line.
    private func waitForAll(_ process: ObservedProcess) async throws {
        let words = "queues subscribed: count=\(count)"
        try await stage.wait(for: "all queues") { process.errors.contains(words) }
    }
}
