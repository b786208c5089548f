import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import FileSystem
import Posix
import Verification

/// `chatfs verify`: whether what was kept is still there, and whole.
enum VerifyCommand {
    static let command = Command(
        "verify", "Read everything that is kept and report what is damaged, missing or left over.",
        discussion: """
            Reads every page of the databases and every file to its tag, and compares what messages, links and drafts \
            have with what the disk has, and looks for files that others may read. Of all profiles, or of one. It may be mounted meanwhile; nothing is changed.

            With --fix, which needs profiles that are not mounted: what is damaged or missing and was received becomes a \
            placeholder again and is received by the next mount, if a relay still has it. What is damaged keeps a name in \
            'damaged', what belongs to nothing goes into 'set-aside', both in the folder of its profile. Nothing is \
            deleted, and databases are not changed: for those there is 'chatfs import'.

            Ends with 1 while something is wrong about which nothing was done. 'chatfs status' says when it last ran.
            """,
        section: CommandSection.data,
        options: [
            .flag("fix", "Mend what can be mended."),
            .flag("json", "For programs: of each profile a line."),
            CommonOptions.profile,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs verify", "Everything, of all profiles."),
            Example("chatfs verify --fix --profile alice", "Mend what can be."),
        ]
    ) { invocation in
        let isForPrograms = invocation.has("json")
        let access = try DirectoryAccess(invocation)
        let directory = try await opened(access, isForPrograms)
        let name = invocation["profile"]
        let profiles = try await ThreadPool.shared.run { () throws(ChatError) in
            if let name { return [try directory.profile(named: name)] }
            return try directory.profiles()
        }
        var isUnwell = false
        for profile in profiles {
            let display = ProgressDisplay("Reading \(PrintableText.escaping(profile.displayName))")
            let repair = Repair(access: access, directory: directory, profile: profile)
            let report: @Sendable (UInt64, UInt64) -> Void = { display.update(done: $0, total: $1) }
            defer { display.finish() }
            let record =
                try await invocation.has("fix") ? repair.fix(progress: report) : repair.look(progress: report)
            display.finish()
            try show(record, of: profile, isForPrograms)
            isUnwell = isUnwell || record.unsettled > 0
        }
        if isUnwell { throw ExitCode.failure }
    }

    /// What cannot be opened at all is told as the others are.
    private static func opened(_ access: DirectoryAccess, _ isForPrograms: Bool) async throws -> DataDirectory
    {
        do {
            return try await ThreadPool.shared.run { try access.open() }
        } catch let error as ChatError where error.code == .storage {
            // Without a key it is told what is wrong with the directory so far.
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
        _ record: VerificationRecord, of profile: Profile, _ isForPrograms: Bool
    ) throws {
        if isForPrograms {
            return Terminal.print(
                try JSONLine.encoded(Line(profile: profile.displayName, verified: record)))
        }
        for finding in record.findings { Terminal.print(PrintableText.escaping(finding.sentence)) }
        func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        let what =
            "\(counted(record.databases, "database")), \(counted(record.files, "file")), "
            + ByteCount.rounded(record.bytes)
        let outcome =
            record.findings.isEmpty
            ? "all as it was kept"
            : "\(counted(record.findings.count, "finding")), \(record.unsettled) not settled"
        Terminal.note(PrintableText.escaping("\(profile.displayName): \(what): \(outcome)"))
    }
}

extension MountStatus.Verification {
    /// What is kept of the last verification; nil when there was none. Blocks.
    init?(ofProfileFolder path: String) {
        guard let found = VerificationSummary.read(profileFolder: path) else { return nil }
        self.init(time: found.time, files: found.files, bytes: found.bytes, problems: found.unsettled)
    }
}
