import Cryptography
import EmbeddedCore
import Posix

/// The cost of a mount by the size of its chats, most of which are not listed.
struct HistoryMeasure: Measure {
    let name = "history"
    let abstract =
        "10,000, 100,000 and 1,000,000 files of the embedded core: second start, memory"
    let limit = Duration.seconds(1800)

    func take(on stage: Stage) async throws -> [Row] {
        var rows: [Row] = []
        for (files, chats) in stage.plan.histories {
            let history = try await History.write(files: files, chats: chats, on: stage)
            rows += try await history.measure()
        }
        return rows
    }
}

/// A profile with many chats. Ten of them are listed; they hold a thousand files each if there are enough.
struct History: Sendable {
    static let lookedAt = 10
    private static let inEachLookedAt = 1000

    let counts: [Int]
    let stage: Stage
    let data: String

    var files: Int { counts.reduce(0, +) }

    /// - Parameters:
    ///   - name: The name of its data directory, or nil for one by the number of files.
    ///   - key: The key of its databases, or nil for plain ones.
    static func write(
        files: Int, chats: Int, in name: String? = nil, key: SecretBytes? = nil, on stage: Stage
    ) async throws -> History {
        let counts = spread(files, over: chats)
        let data = stage.path(name ?? "data-\(files)")
        return try await ThreadPool.shared.run {
            let writer = try LongHistory(
                in: DataDirectory(data, key: key), reader: "reader", sender: "sender")
            _ = try writer.write(chatsOf: counts)
            return History(counts: counts, stage: stage, data: data)
        }
    }

    private static func spread(_ files: Int, over chats: Int) -> [Int] {
        let large = min(inEachLookedAt, files / chats * 2)
        let others = chats - lookedAt
        let rest = files - lookedAt * large
        return (0..<lookedAt).map { _ in large }
            + (0..<others).map { rest * ($0 + 1) / others - rest * $0 / others }
    }

    func mount() async throws -> Mounted {
        try await stage.mount("history", ["--profile", "reader", "--data", data])
    }

    private func folder(_ chat: Int, of mount: Mounted) -> String { mount.file("chat \(chat)") }

    // MARK: - Measuring

    func measure() async throws -> [Row] {
        try await listEverything()
        var (ready, memory): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.plan.repetitions {
            let (mount, time) = try await start()
            ready.append(time)
            for chat in 1..<Self.lookedAt { try await list(chat, of: mount) }
            try await mount.figures.rest(on: stage)
            memory.append(try mount.figures.memory() / 1_048_576)
            await stage.end(mount.process)
        }
        let title = "with \(files) files in \(counts.count) chats"
        return [
            Row(
                "history-start", "second start \(title), until a chat is listed", .milliseconds, ready,
                target: .atMost(500)),
            Row(
                "history-memory-some", "memory \(title), ten listed", .mebibytes, memory,
                target: .atMost(120)),
        ]
    }

    /// Returns the milliseconds from the start of a mount until a chat is listed.
    func timeToStart() async throws -> Double {
        let (mount, time) = try await start()
        await stage.end(mount.process)
        return time
    }

    private func start() async throws -> (mount: Mounted, time: Double) {
        try await stage.settle()
        let start = ContinuousClock.now
        let mount = try await mount()
        try await list(0, of: mount)
        return (mount, (ContinuousClock.now - start) / .milliseconds(1))
    }

    /// Runs the first mount, in which all names are assigned.
    func listEverything() async throws {
        let mount = try await mount()
        for chat in counts.indices { try await list(chat, of: mount) }
        try await mount.figures.rest(on: stage)
        await stage.end(mount.process)
    }

    private func list(_ chat: Int, of mount: Mounted) async throws {
        try stage.check()
        let (folder, count) = (folder(chat, of: mount), counts[chat])
        try await ThreadPool.shared.run { try NameWork.list(folder, expectingAtLeast: count) }
    }
}
