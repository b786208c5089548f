import Base
import Glibc
import Posix

/// Names and attributes: a folder of many entries, with and without readers that wait for a relay.
enum MetadataMeasures {
    static func stat(_ stage: Stage) async throws -> [Row] {
        let (mounted, plain) = try await fill(stage)
        return try await rates(stage, mounted, plain, title: "stat")
    }

    private static func rates(
        _ stage: Stage, _ mounted: String, _ plain: String, title: String
    ) async throws -> [Row] {
        let paths: @Sendable (String) throws -> [String] = { folder in
            try PrivateFolder.names(in: OpenFile(folder, flags: O_RDONLY | O_DIRECTORY)).map {
                folder + "/" + $0
            }
        }
        let (ours, theirs) = try await TransferMeasures.onPool { (try paths(mounted), try paths(plain)) }
        var (samples, native): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.plan.repetitions {
            samples.append(try await TransferMeasures.onPool { try Work.statRate(ours, rounds: 3) })
            native.append(try await TransferMeasures.onPool { try Work.statRate(theirs, rounds: 3) })
        }
        return [Row(.stat, "\(title), \(ours.count) entries", "/s", samples, native: native)]
    }

    static func list(_ stage: Stage) async throws -> [Row] {
        let (mounted, plain) = try await fill(stage)
        var rows = try await listings(stage, mounted, plain, title: "list")
        let readers = try await WaitingReaders.start(stage)
        rows += try await listings(stage, mounted, plain, title: "list, \(readers.count) readers waiting")
        rows += try await rates(stage, mounted, plain, title: "stat, \(readers.count) readers waiting")
        try await readers.finish()
        return rows
    }

    private static func listings(
        _ stage: Stage, _ mounted: String, _ plain: String, title: String
    ) async throws -> [Row] {
        let count = stage.plan.entries
        var (samples, native): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.plan.repetitions {
            samples.append(
                try await TransferMeasures.onPool { try Work.listSeconds(mounted, expecting: count) * 1000 })
            native.append(
                try await TransferMeasures.onPool { try Work.listSeconds(plain, expecting: count) * 1000 })
        }
        return [Row(.list, "\(title), \(count) entries", "ms", samples, native: native)]
    }

    /// Many small notes in bob's folder and as many plain files. Answers both folders.
    private static func fill(_ stage: Stage) async throws -> (mounted: String, plain: String) {
        let mounted = "\(stage.folder.path)/bob/Saved notes"
        let plain = stage.plain("many")
        let count = stage.plan.entries
        try await TransferMeasures.onPool { try check("make a folder") { mkdir(plain, 0o700) } }
        for folder in [mounted, plain] {
            try await withThrowingTaskGroup { group in
                for part in 0..<4 {
                    group.addTask {
                        try await TransferMeasures.onPool {
                            for number in stride(from: part, to: count, by: 4) {
                                let file = try OpenFile(
                                    "\(folder)/note \(number).txt", flags: O_WRONLY | O_CREAT | O_EXCL)
                                try file.write(Array("note \(number)\n".utf8), at: 0)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        let last = "\(mounted)/note \(count - 1).txt"
        try await stage.wait(for: "the notes") {
            try ExtendedAttribute.text("user.chatfs.state", of: last) != "draft"
        }
        return (mounted, plain)
    }
}

/// Readers of cold files whose relay does not answer.
private final class WaitingReaders: Sendable {
    let count: Int
    private let stage: Stage
    private let answered = Lock(0)

    private init(_ stage: Stage) {
        self.stage = stage
        count = stage.plan.waitingReaders
    }

    /// Sends the files, stops the relay, starts one thread for each reader.
    static func start(_ stage: Stage) async throws -> WaitingReaders {
        let readers = WaitingReaders(stage)
        for number in 0..<readers.count {
            _ = try await TransferMeasures.upload(stage, "wait-\(number).bin", 5 << 16)
        }
        kill(stage.relay.identifier, SIGSTOP)
        for number in 0..<readers.count {
            let path = stage.path("bob", "alice", "wait-\(number).bin")
            Thread.start("bench-reader") {
                guard let file = try? OpenFile(path, flags: O_RDONLY),
                    (try? file.read(count: 1, at: 0))?.count == 1
                else { return }
                readers.answered.withLock { $0 += 1 }
            }
        }
        // All of them are in the daemon now, and none can have been answered.
        try await Task.sleep(for: .seconds(1))
        return readers
    }

    /// Lets the relay go on and waits until every reader has its byte.
    func finish() async throws {
        guard answered.withLock({ $0 }) == 0 else { throw BenchError("A reader did not have to wait.") }
        kill(stage.relay.identifier, SIGCONT)
        try await stage.wait(for: "the waiting readers") { answered.withLock { $0 } == count }
    }
}
