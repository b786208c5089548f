import Base
import CommandLineKit
import Glibc
import Posix

/// `chatfs-bench`: measures the built `chatfs` beside it from outside, through real mounts and a real
/// relay on this machine, against the same work on the filesystem below.
enum BenchProgram {
    static let program = Command(
        "chatfs-bench", "Measure chatfs against the filesystem below it.",
        discussion: """
            Prints a table in Markdown. Every figure is the median of repetitions that alternate with the \
            same work on the plain filesystem, so that a busy machine slows both. All files are made in DIR \
            and removed; the measures need up to 6 GiB there.

            Measures: \(Measure.allCases.map(\.rawValue).joined(separator: ", ")).
            """,
        options: [
            .value(
                "dir", named: "DIR", .folder, default: "/var/tmp",
                "Where to work; best on ext4, not in memory."),
            .value("json", named: "FILE", .file, "Write the figures there as JSON, too."),
            .value(
                "only", named: "NAME", .choice(Measure.allCases.map(\.rawValue)), repeats: true,
                "Run this measure alone."),
            .value(
                "repetitions", named: "N", .integer(1...99),
                "How often each figure is taken; 5 when left out, 3 with --quick."),
            .flag("quick", "Smaller files, fewer entries: a look, not a result."),
        ],
        examples: [Example("chatfs-bench --only stat --only list", "Only metadata.")],
        waitsForStop: true, run: run)

    private static func run(_ invocation: Invocation) async throws {
        let quick = invocation.has("quick")
        let plan = Plan(
            folder: invocation["dir"] ?? "/var/tmp", isQuick: quick,
            repetitions: invocation.integer("repetitions") ?? (quick ? 3 : 5))
        let named = invocation.all("only").compactMap(Measure.init)
        let measures = named.isEmpty ? Measure.allCases : Measure.allCases.filter(named.contains)
        var report = Report(machine: Machine.describe(folder: plan.folder), isQuick: quick)
        Task {
            await invocation.stop.wait()
            Stage.isInterrupted.withLock { $0 = true }
        }
        for measure in measures where !invocation.stop.isRequested {
            Terminal.complain("measuring \(measure.rawValue)…")
            let stage = try await Stage.build(plan, mounting: measure.needsMounts)
            do {
                report.rows += try await measure.run(on: stage)
                try await stage.takeDown()
            } catch {
                try await stage.takeDown()
                throw error
            }
        }
        Terminal.write(report.markdown, to: STDOUT_FILENO)
        if let path = invocation["json"] {
            let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
            try file.write(Array(report.json.utf8), at: 0)
        }
    }
}

/// How much is measured.
struct Plan: Sendable {
    let folder: String
    let isQuick: Bool
    let repetitions: Int

    /// Bytes of the small and the large file of the transfer measures.
    var transferSizes: [Int] { isQuick ? [16 << 20, 64 << 20] : [16 << 20, 256 << 20] }
    var largeFile: Int { isQuick ? 64 << 20 : 256 << 20 }
    /// The largest file that a chat carries.
    var hugeFile: Int { isQuick ? 256 << 20 : 1 << 30 }
    var entries: Int { isQuick ? 1000 : 10_000 }
    var waitingReaders: Int { 100 }
}

/// What can be measured.
enum Measure: String, CaseIterable, Sendable {
    case upload, download, send, receive, stat, list, reread, memory

    var needsMounts: Bool { self != .send && self != .receive }

    func run(on stage: Stage) async throws -> [Row] {
        switch self {
        case .upload, .download: try await TransferMeasures.throughMount(stage, self)
        case .send, .receive: try await TransferMeasures.byCommand(stage, self)
        case .stat: try await MetadataMeasures.stat(stage)
        case .list: try await MetadataMeasures.list(stage)
        case .reread: try await TransferMeasures.reread(stage)
        case .memory: try await MemoryMeasure.run(stage)
        }
    }
}
