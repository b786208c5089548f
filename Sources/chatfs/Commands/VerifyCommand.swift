import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import FileSystem
import Posix
import Verification

/// `chatfs verify`: verifies stored data.
enum VerifyCommand {
    static let command = Command(
        "verify",
        "Read everything that is kept, or an archive, and report what is damaged, missing or left over.",
        discussion: """
            Reads every page of the databases and every file to its tag, and compares what messages, links and drafts \
            have with what the disk has, and looks for files that others may read. Of all profiles, or of one, and of what is kept beside official cores. It may be mounted meanwhile; nothing is changed.

            With --fix, which needs profiles that are not mounted: what is damaged or missing and was received becomes a \
            placeholder again and is received by the next mount, if a relay still has it. What is damaged keeps a name in \
            'damaged', what belongs to nothing goes into 'set-aside', both in the folder of its profile. Nothing is \
            deleted, and databases are not changed: for those there is 'chatfs import'. A database that is missing is \
            given up and made anew: put it back from a backup before, where there is one.

            With ARCHIVE, a file that 'chatfs export' wrote, each file in it is compared with the archive's list. With its \
            passphrase the list itself, every page of the databases and every file's tag are checked too, and what the \
            databases name is looked for. The databases go, encrypted, into a folder for temporary files meanwhile ($TMPDIR).

            Ends with 1 while something is wrong about which nothing was done. 'chatfs status' says when it last ran.
            """,
        section: CommandSection.data,
        arguments: [
            Argument("ARCHIVE", .file, count: .optional, "An archive, instead of the data directory.")
        ],
        options: [
            .flag("fix", "Mend what can be mended."),
            .flag("json", "For programs: of each profile a line."),
            ArchivePassphrase.option, CommonOptions.profile,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs verify", "Everything, of all profiles."),
            Example("chatfs verify --fix --profile alice", "Mend what can be."),
            Example("chatfs verify ~/chats.zip", "An archive; asks for its passphrase."),
        ]
    ) { invocation in
        if let archive = invocation.optionalArgument("ARCHIVE") {
            return try await VerifiedArchive(path: archive).run(invocation)
        }
        if invocation.isGiven(ArchivePassphrase.option.name) {
            throw UsageError("--archive-passphrase-fd goes with an archive")
        }
        let isForPrograms = invocation.has("json")
        let access = try DirectoryAccess(invocation)
        let directory = try await opened(access, isForPrograms)
        let name = invocation["profile"]
        let places = try await ThreadPool.shared.run { () throws(ChatError) in
            if let name { return [VerifiedPlace.profile(try directory.profile(named: name))] }
            return try VerifiedPlace.all(in: directory)
        }
        var isUnwell = false
        for place in places {
            let display = ProgressDisplay("Reading \(PrintableText.escaping(place.name))")
            let repair = Repair(access: access, directory: directory, place: place)
            let report: @Sendable (UInt64, UInt64) -> Void = { display.update(done: $0, total: $1) }
            defer { display.finish() }
            let record =
                try await invocation.has("fix") ? repair.fix(progress: report) : repair.look(progress: report)
            display.finish()
            try show(record, of: place.name, isForPrograms)
            isUnwell = isUnwell || record.unsettled > 0
        }
        if name == nil {
            let isReplacing = invocation.has("fix")
            let left = try await ThreadPool.shared.run { () throws(ChatError) in
                try UnplacedParts.records(in: directory, besides: places, isReplacing: isReplacing)
            }
            for (name, record) in left {
                try show(record, of: name, isForPrograms)
                isUnwell = isUnwell || record.unsettled > 0
            }
        }
        if isUnwell { throw ExitCode.failure }
    }

    /// Opens the directory. Reports a failure as a finding.
    private static func opened(_ access: DirectoryAccess, _ isForPrograms: Bool) async throws -> DataDirectory
    {
        do {
            return try await ThreadPool.shared.run { try access.open(mayLackParts: true) }
        } catch let error as ChatError where error.code == .storage {
            // Without a key, reports the damage visible so far.
            let finding = await ThreadPool.shared.run {
                ProfileVerification.damage(ofDirectory: access.path, key: try? access.key())
            }
            guard let finding else { throw error }
            if isForPrograms {
                let record = VerificationRecord(
                    time: SystemWallClock().now().seconds, databases: 1, files: 0, bytes: 0,
                    findings: [finding])
                Terminal.print(String(decoding: record.encoded, as: UTF8.self))
            } else {
                Terminal.print(PrintableText.escaping(finding.sentence))
            }
            throw ExitCode.failure
        }
    }

    private struct Line: Encodable {
        var profile: String
        var verified: VerificationRecord
    }

    private static func show(
        _ record: VerificationRecord, of name: String, _ isForPrograms: Bool
    ) throws {
        if isForPrograms {
            return Terminal.print(try JSONLine.encoded(Line(profile: name, verified: record)))
        }
        for finding in record.findings { Terminal.print(PrintableText.escaping(finding.sentence)) }
        Terminal.note(PrintableText.escaping("\(name): \(record.summary)"))
    }
}

extension VerificationRecord {
    /// A summary for display.
    var summary: String {
        func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        let outcome =
            findings.isEmpty
            ? "all as it was kept" : "\(counted(findings.count, "finding")), \(unsettled) not settled"
        return
            "\(counted(databases, "database")), \(counted(files, "file")), \(ByteCount.rounded(bytes)): \(outcome)"
    }
}

extension MountStatus.Verification {
    /// Reads the last verification; nil if there was none. Blocks.
    init?(ofProfileFolder path: String) {
        guard let found = VerificationSummary.read(profileFolder: path) else { return nil }
        self.init(time: found.time, files: found.files, bytes: found.bytes, problems: found.unsettled)
    }
}
