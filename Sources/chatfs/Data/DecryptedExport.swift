import Archive
import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs export --decrypted`: plain files for other programs.
struct DecryptedExport: Sendable {
    let directory: DataDirectory
    let profile: Profile
    let chats: [NamedChat]
    /// Absolute path.
    let path: String

    /// Counts of outcomes.
    private struct Summary: Sendable {
        var outcomes: [PlainFolder.Outcome: Int] = [:]
        var failures = 0
        var leftOver: [String] = []

        func count(_ outcome: PlainFolder.Outcome) -> Int { outcomes[outcome] ?? 0 }
    }

    /// - Parameter fetches: True to receive remote files first.
    /// - Throws: `ExitCode.failure` if a file could not be written. A remote file is a failure only with `fetches`.
    func run(fetches: Bool) async throws {
        var export = try await plan()
        var wanted: Set<ItemID> = []
        if fetches {
            let absent = export.candidates.filter {
                $0.item.file?.source == nil && $0.item.direction == .received
            }
            wanted = Set(absent.map(\.item.id))
            try await FileFetcher(directory: directory, profile: profile).fetch(absent.map(\.item)) {
                item, problem in
                let name = absent.first { $0.item.id == item.id }
                let path = name.map { "\($0.folder)/\($0.name)" } ?? "\(item.id)"
                Terminal.complain(PrintableText.escaping("chatfs: \(path): \(problem)"))
            }
            export = try await plan()
        }
        let summary = try await write(export, wanted)
        Self.show(summary)
        if summary.failures > 0 { throw ExitCode.failure }
    }

    private func plan() async throws -> PlainExport {
        let (directory, profile, chats) = (directory, profile, chats)
        return try await ThreadPool.shared.run { try PlainExport(of: profile, in: directory, chats: chats) }
    }

    private func write(_ export: PlainExport, _ wanted: Set<ItemID>) async throws -> Summary {
        let (profile, path, isWhole) = (profile, path, isOfAllChats)
        return try await ThreadPool.shared.run {
            let folder = try naming(path) { try PlainFolder(path, of: profile) }
            let display = ProgressDisplay("Decrypting")
            defer { display.finish() }
            var summary = Summary()
            try export.run(into: folder) { candidate, outcome in
                let isWanted = outcome == .notHere && wanted.contains(candidate.item.id)
                if isWanted { summary.failures += 1 }
                summary.outcomes[outcome, default: 0] += isWanted ? 0 : 1
                guard let words = isWanted ? "The file is not local." : Self.words(outcome) else { return }
                if case .failed = outcome { summary.failures += 1 }
                display.finish()
                Terminal.complain(
                    PrintableText.escaping("chatfs: \(candidate.folder)/\(candidate.name): \(words)"))
            } progress: { done, total in
                display.update(done: done, total: total)
            }
            if isWhole {
                summary.leftOver = folder.leftOver(whenPresent: Set(export.candidates.map(\.item.id)))
            }
            return summary
        }
    }

    let isOfAllChats: Bool

    /// Returns nil for outcomes that need no line.
    private static func words(_ outcome: PlainFolder.Outcome) -> String? {
        switch outcome {
        case .written, .unchanged: nil
        case .writtenAgain: "The file was missing and has been written again."
        case .changed: "The file was changed after an earlier export and stays unchanged."
        case .notHere: "The file is not local: --fetch receives it."
        case .failed(let sentence): sentence
        }
    }

    private static func show(_ summary: Summary) {
        for path in summary.leftOver {
            Terminal.complain(
                PrintableText.escaping("chatfs: \(path): Its message was deleted; the exported file stays."))
        }
        let written = summary.count(.written) + summary.count(.writtenAgain)
        Terminal.note(
            "\(written) written, \(summary.count(.unchanged)) unchanged, \(summary.count(.notHere)) not here, "
                + "\(summary.failures) failed")
    }
}
