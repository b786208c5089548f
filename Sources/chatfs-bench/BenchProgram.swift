import Base
import CommandLineKit
import Glibc
import Posix

/// `chatfs-bench`: measures the built `chatfs` next to it from outside, through real mounts and relays on this machine,
/// alternating with references.
enum BenchProgram {
    private static let names = Argument(
        "NAME", .choice(MeasureTable.all.names), count: .any, "More measures to take, as after --only.")
    private static let folder = Option(
        "dir", named: "DIR", .folder, default: "/var/tmp", "Where to work; best on ext4, not in memory.")
    private static let json = Option("json", named: "FILE", .file, "Write the figures there as JSON.")
    private static let svg = Option(
        "svg", named: "FILE", .file, "Write a picture of the figures against their targets there.")
    private static let page = Option(
        "page", named: "FILE", .file,
        "Put the report into this page of the documentation, between its two marks.")
    private static let only = Option.list(
        "only", named: "NAME", .choice(MeasureTable.all.names), "Take only this measure, and others named.")
    private static let repetitions = Option(
        "repetitions", named: "N", .integer(1...99),
        "How often each figure is taken; 5 when left out, 3 with --quick.")
    private static let quick = Option.flag("quick", "Smaller files, fewer entries: a look, not a result.")

    static let program = Command(
        "chatfs-bench", "Measure chatfs beside other filesystems.",
        discussion: """
            Prints a report in Markdown. Every figure is the median of repetitions that alternate with the same \
            work of a reference, so that a busy machine slows both. Creates and removes all files in DIR, up to \
            10 GiB.

            References: files on the disk of DIR; a passthrough filesystem in C, built with cc; rclone, if it \
            is installed; the official xftp and xftp-server, if the variable OFFICIAL_BIN names their folder. \
            The report lists missing references.

            Measures:

            \(MeasureTable.all.help)
            """,
        arguments: [names], options: [folder, json, svg, page, only, repetitions, quick],
        examples: [
            Example("chatfs-bench --only warm list", "Answers of the kernel, and listings."),
            Example(
                "chatfs-bench --page docs/performance.md --svg docs/performance.svg",
                "Everything, into the documentation."),
        ],
        waitsForStop: true, run: run)

    private static func run(_ invocation: Invocation) async throws {
        let quick = invocation[quick]
        let plan = Plan(
            // In the form of the mount table.
            folder: try SymbolicLink.resolved(invocation[folder], to: "work in \(invocation[folder])"),
            isQuick: quick,
            repetitions: invocation[repetitions] ?? (quick ? 3 : 5),
            official: getenv("OFFICIAL_BIN").map { String(cString: $0) })
        // A page without marks fails before the work.
        let page = try invocation[page].map { try FiguresPage($0) }
        var report = Report(
            date: Machine.today(), machine: Machine.describe(plan), isQuick: quick)
        if let version = await OfficialPrograms.version(plan) {
            report.machine.append(("Official programs", "\(version), built as given"))
        }
        await MeasureRun(plan: plan, stop: invocation.stop).take(
            MeasureTable.all.chosen(invocation[only] + invocation[names]),
            into: &report)
        Terminal.write(report.markdown, to: STDOUT_FILENO)
        // A partial run does not replace the figures of a full one.
        if invocation.stop.isRequested { throw ExitCode.failure }
        if let path = invocation[json] { try Self.write(report.json, to: path) }
        if let path = invocation[svg] { try Self.write(Picture.svg(of: report), to: path) }
        if let page {
            let picture = invocation[svg].map { Page.link(toPicture: $0, from: page.path) } ?? ""
            try Self.write(page.text(with: picture + report.markdown), to: page.path)
        }
    }

    private static func write(_ text: String, to path: String) throws(SystemError) {
        let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        try file.write(Array(text.utf8), at: 0)
    }
}

/// A page with the marks for figures.
private struct FiguresPage {
    let path: String
    private let text: String

    init(_ path: String) throws {
        self.path = path
        text = String(
            decoding: try OpenFile(path, flags: O_RDONLY).readAll(limit: 4 << 20), as: UTF8.self)
        guard Page.replacing(figuresIn: text, with: "") != nil else {
            throw BenchError(
                .missing, "The page has no place for figures: \(Page.beginning) … \(Page.ending)")
        }
    }

    func text(with figures: String) -> String {
        Page.replacing(figuresIn: text, with: figures) ?? text
    }
}
