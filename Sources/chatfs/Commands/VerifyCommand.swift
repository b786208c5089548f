import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import FileSystem
import Posix
import Verification

/// `chatfs verify`: verifies stored data.
enum VerifyCommand {
    private static let archive = Argument(
        optional: "ARCHIVE", .file, "An archive, instead of the data directory.")
    private static let fix = Option.flag("fix", "Repair files, and set damaged copies aside.")
    private static let json = Option.flag("json", "For programs: one JSON object per line for each profile.")

    static let command = Command(
        "verify", "Verify all stored data, or an archive.",
        discussion: """
            Reads every page of the databases and verifies the tag of every file. Reports damaged, missing and \
            left-over files, and files that other users may read. Checks all profiles, or one, and the data of \
            official cores. Profiles may be mounted meanwhile. Without --fix it changes nothing.

            --fix needs unmounted profiles. It turns damaged and missing received files into placeholders; the next \
            mount receives them again if a relay still has them. Damaged files move to 'damaged' and left-over files \
            to 'set-aside', both in the folder of the profile. No file is deleted. Existing databases stay as they \
            are; 'chatfs import' restores them. A missing database is created anew and empty: restore it from a backup \
            before, if there is one.

            ARCHIVE is a file from 'chatfs export'. Each file in it is compared with the archive's list. With the \
            passphrase it also checks the list, every page of the databases, every file's tag, and that no file is \
            missing. Meanwhile the encrypted databases are in a folder for temporary files ($TMPDIR).

            Ends with 1 if a problem remains. 'chatfs status' shows the time of the last verification.
            """,
        section: CommandSection.data, arguments: [archive],
        options: [fix, json, ArchivePassphrase.option, CommonOptions.profile] + CommonOptions.directory,
        examples: [
            Example("chatfs verify", "Verify all profiles."),
            Example("chatfs verify --fix --profile alice", "Repair one profile."),
            Example("chatfs verify ~/chats.zip", "Verify an archive with its passphrase."),
        ]
    ) { invocation in
        let isForPrograms = invocation[json]
        if let archive = invocation[archive] {
            let others: [any OptionDeclaration] = [fix, CommonOptions.profile, CommonOptions.data]
            if let option = others.first(where: invocation.isGiven) {
                throw UsageError("--\(option.name) is for a data directory, not for an archive")
            }
            return try await VerifiedArchive(path: archive).run(invocation, isForPrograms: isForPrograms)
        }
        if invocation.isGiven(ArchivePassphrase.option) {
            throw UsageError("--archive-passphrase-fd goes with an archive")
        }
        let access = try DirectoryAccess(invocation)
        let directory = try await opened(access, isForPrograms)
        let name = invocation[CommonOptions.profile]
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
                try await invocation[fix] ? repair.fix(progress: report) : repair.look(progress: report)
            display.finish()
            try show(record, of: place.name, isForPrograms)
            isUnwell = isUnwell || record.unsettled > 0
        }
        if name == nil {
            let isReplacing = invocation[fix]
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
                try show(record, of: DataDirectory.databaseFile, isForPrograms)
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
        let outcome =
            findings.isEmpty
            ? "no problems" : "\(counted(findings.count, "finding")), \(unsettled) unresolved"
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
