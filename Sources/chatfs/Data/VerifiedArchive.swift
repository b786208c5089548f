import Archive
import Base
import CommandLineKit
import Cryptography
import Glibc
import Posix
import Verification

/// `chatfs verify ARCHIVE`.
struct VerifiedArchive: Sendable {
    /// The path as the user typed it.
    let path: String

    private struct Line: Encodable {
        var archive: String
        /// True if the passphrase was available, so that deliberate changes are detected.
        var authenticated: Bool
        var verified: VerificationRecord
    }

    /// - Throws: `ExitCode.failure` if there are findings.
    func run(_ invocation: Invocation, isForPrograms: Bool) async throws {
        let passphraseIsGiven = invocation.isGiven(ArchivePassphrase.option)
        let (record, isAuthenticated) = try await ThreadPool.shared.run {
            let file = try naming(path) { try OpenFile(path, flags: O_RDONLY) }
            guard try naming(path, { try file.status() }).st_mode & S_IFMT == S_IFREG else {
                throw UsageError(
                    "\(path) is not a file: 'verify' takes an archive; --data names another data directory")
            }
            let asks = passphraseIsGiven || Question.isPossible
            return try look(into: file, asks ? { try ArchivePassphrase.read(invocation, isNew: false) } : nil)
        }
        if isForPrograms {
            Terminal.print(
                try JSONLine.encoded(
                    Line(archive: path, authenticated: isAuthenticated, verified: record)))
        } else {
            for finding in record.findings { Terminal.print(PrintableText.escaping(finding.sentence)) }
            Terminal.note(PrintableText.escaping("\(path): \(record.summary)"))
            if !isAuthenticated, record.findings.isEmpty {
                Terminal.note(
                    "Deliberate changes were not checked, which needs the passphrase: give --archive-passphrase-fd."
                )
            }
        }
        if record.unsettled > 0 { throw ExitCode.failure }
    }

    /// - Parameter passphrase: nil if no prompt is possible.
    private func look(
        into file: OpenFile, _ passphrase: (() throws -> SecretBytes)?
    ) throws -> (VerificationRecord, isAuthenticated: Bool) {
        let verification: ArchiveVerification
        do throws(ArchiveError) {
            verification = try ArchiveVerification(file)
        } catch {
            guard let problem = ArchiveVerification.problem(error) else { throw error }
            return (record([problem]), false)
        }
        return try found(by: verification, passphrase)
    }

    private func found(
        by verification: ArchiveVerification, _ passphrase: (() throws -> SecretBytes)?
    ) throws -> (VerificationRecord, isAuthenticated: Bool) {
        let secret = try passphrase?()
        let display = ProgressDisplay("Reading the archive")
        defer { display.finish() }
        let result = try verification.run(passphrase: secret, scratch: Self.scratch()) {
            display.update(done: $0, total: $1)
        }
        let isAuthentic = !result.problems.contains { $0.kind == .archive }
        return (
            record(
                result.problems, databases: result.databases, files: result.files, bytes: result.bytes),
            secret != nil && isAuthentic
        )
    }

    private func record(
        _ problems: [ArchiveVerification.Problem], databases: Int = 0, files: Int = 0, bytes: UInt64 = 0
    ) -> VerificationRecord {
        VerificationRecord(
            time: SystemWallClock().now().seconds, databases: databases, files: files, bytes: bytes,
            findings: problems.map { problem in
                let kind: Verification.Finding.Kind =
                    switch problem.kind {
                    case .archive: .archive
                    case .database: .database
                    case .damaged: .damaged
                    case .missing: .missing
                    }
                return Verification.Finding(
                    kind, problem.path.isEmpty ? path : "\(path): \(problem.path)", size: problem.size,
                    detail: problem.sentence, outcome: .elsewhere)
            })
    }

    /// Returns a free path for the archive's databases, which are encrypted.
    private static func scratch() -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let mark = Hexadecimal.encode(SystemRandomSource().bytes(8))
        return "\(AbsolutePath.of(folder))/\(ArchiveVerification.scratchPrefix)\(mark)"
    }
}
