import Base
import Glibc
import Posix
import ScriptedCore

/// A long history of an official core: the delay for readers while it is read for the first time, and the next mount's
/// time to show all of it.
struct OfficialHistoryMeasure: Measure {
    let name = "official-history"
    let abstract =
        "100,000 files of an official core: receiving meanwhile, second start, memory"
    let limit = Duration.seconds(600)

    func take(on stage: Stage) async throws -> [Row] {
        let history = OfficialHistory(stage.plan)
        let chats = try ScriptedChats(on: stage)
        chats.simplex.change { history.fill(&$0) }
        let (during, idle) = try await history.first(chats, on: stage)
        let second = try await history.second(chats, on: stage)
        return [
            Row(
                "receive-delay", "longest of \(during.count) receives while the history is read",
                .milliseconds, [during.max() ?? 0],
                beside: Reference("longest of \(idle.count) afterwards", [idle.max() ?? 0]),
                target: .atMost(100)),
            Row(
                "second-start", "second start with \(history.count) files, until a chat is listed",
                .milliseconds, second.ready, target: .atMost(500)),
            Row(
                "history-memory", "memory with \(history.count) files, all listed", .mebibytes, second.memory,
                target: .atMost(100)),
        ]
    }
}

/// Chats with many files each, and one with the opened files. Half of the messages are pictures with previews as in the
/// apps.
private struct OfficialHistory {
    let chats: Int
    let filesInEach: Int
    /// The files opened while the history is read, and as many afterwards.
    let opened: Int

    init(_ plan: Plan) {
        (chats, filesInEach, opened) = plan.isQuick ? (40, 500, 10) : (200, 500, 20)
    }

    var count: Int { chats * filesInEach }

    private static let reader: Int64 = 1
    private static let preview = String(repeating: "A", count: 6000)

    func fill(_ state: inout ScriptedState) {
        state.contacts = [Self.reader: "reader"]
        var id: Int64 = 0
        for chat in 2...Int64(chats) {
            state.contacts[chat] = "contact \(chat)"
            for number in 0..<filesInEach {
                id += 1
                var message = ScriptedMessage(
                    id: id, contact: chat, name: "IMG_\(number).jpg", size: 250_000 + Int64(number))
                message.status = #"{"type":"rcvComplete"}"#
                message.path = "IMG_\(id).jpg"
                if number % 2 == 0 {
                    message.type = "image"
                    message.preview = Self.preview
                }
                state.history.append(message)
            }
        }
        // The newest: read first, so that they can be opened while the others are read.
        for number in 0..<filesInEach {
            id += 1
            state.history.append(
                ScriptedMessage(id: id, contact: Self.reader, name: "open \(number).bin", size: 4096))
        }
        // As recorded from the official program: it answers in a few milliseconds, and half a millisecond for each
        // further message.
        state.work.command = .milliseconds(2)
        state.work.message = .microseconds(400)
    }

    // MARK: - First start

    /// Returns the milliseconds from a reader's open until the core got its order to receive.
    func first(_ chats: ScriptedChats, on stage: Stage) async throws -> (during: [Double], idle: [Double]) {
        let accepted = Lock<[String: ContinuousClock.Instant]>([:])
        chats.simplex.whenReceiving { message in
            accepted.withLock { $0[message.name] = .now }
            try? chats.deliver(message)
        }
        let mount = try await chats.mount()
        let folder = mount.path + "/reader/"
        let newest = folder + "open \(filesInEach - 1).bin"
        try await stage.wait(for: "the newest file") { access(newest, F_OK) == 0 }
        var (during, idle): ([Double], [Double]) = ([], [])
        for number in 0..<opened {
            let name = "open \(filesInEach - 1 - number).bin"
            during.append(try await delay(folder + name, name, accepted))
            try await Task.sleep(for: .milliseconds(200))
        }
        let pages = chats.simplex.count("/_get chat ")
        guard pages < count / 50 else {
            throw BenchError(.failed, "The history was read before the files were opened.")
        }
        try await finish(chats, mount, on: stage)
        for number in opened..<2 * opened {
            let name = "open \(filesInEach - 1 - number).bin"
            idle.append(try await delay(folder + name, name, accepted))
        }
        await stage.end(mount.process)
        return (during, idle)
    }

    private func delay(
        _ path: String, _ name: String, _ accepted: Lock<[String: ContinuousClock.Instant]>
    ) async throws -> Double {
        let start = ContinuousClock.now
        try await ThreadPool.shared.run { _ = try OpenFile(path, flags: O_RDONLY).read(count: 1, at: 0) }
        guard let moment = accepted.withLock({ $0[name] }) else {
            throw BenchError(.failed, "A file was read without the core.")
        }
        return (moment - start) / .milliseconds(1)
    }

    /// Waits until everything is shown.
    private func finish(_ chats: ScriptedChats, _ mount: Mounted, on stage: Stage) async throws {
        let end = ContinuousClock.now + .seconds(500)
        while try names(of: mount).count < count {
            try stage.check()
            guard ContinuousClock.now < end else {
                throw BenchError(.failed, "Not all of the history was shown.")
            }
            try await Task.sleep(for: .seconds(1))
        }
        try await mount.figures.rest(on: stage)
    }

    // MARK: - Second start

    func second(
        _ chats: ScriptedChats, on stage: Stage
    ) async throws -> (ready: [Double], memory: [Double]) {
        var (ready, memory): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.plan.repetitions {
            let start = ContinuousClock.now
            let mount = try await chats.mount()
            let listed = try NameWork.paths(in: mount.path + "/contact 2").count
            ready.append((ContinuousClock.now - start) / .milliseconds(1))
            guard listed == filesInEach else {
                throw BenchError(.wrong, "The second mount shows \(listed) of \(filesInEach) names.")
            }
            _ = try NameWork.statRate(names(of: mount), rounds: 1)
            try await mount.figures.rest(on: stage)
            memory.append(try mount.figures.memory() / 1_048_576)
            await stage.end(mount.process)
        }
        return (ready, memory)
    }

    private func names(of mount: Mounted) throws -> [String] {
        try mount.chats.flatMap { try NameWork.paths(in: $0) }
    }
}
