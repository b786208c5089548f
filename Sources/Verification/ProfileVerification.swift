import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Links
import OfficialCore
import Outbox
import Posix
import Store

/// Compares the rows of a profile with the disk: every page of its databases, every byte of its files, and the
/// references in both directions. Only methods whose names say so change anything. All calls block.
public struct ProfileVerification: Sendable {
    private let directory: DataDirectory
    public let place: VerifiedPlace
    /// Absolute path of the profile's directory.
    public let folder: String
    /// True if no other process can change the profile.
    private let isAlone: Bool

    /// Minimum age in seconds of a stray file; a younger one may get its row soon.
    private static let leastAge: Int64 = 3600

    /// - Parameter isAlone: True if this process holds the profile; otherwise young files without a row are ignored.
    /// - Throws: `.storage`, or `.file(.noSpace)` if the profile's directories cannot be opened or created.
    public init(of place: VerifiedPlace, in directory: DataDirectory, isAlone: Bool) throws(ChatError) {
        self.directory = directory
        self.place = place
        self.isAlone = isAlone
        switch place {
        case .profile(let profile): folder = try directory.folders(of: profile).own
        case .official: folder = "\(directory.path)/\(place.folder)"
        }
    }

    public init(of profile: Profile, in directory: DataDirectory, isAlone: Bool) throws(ChatError) {
        try self.init(of: .profile(profile), in: directory, isAlone: isAlone)
    }

    /// A damaged or missing file with its finding.
    public struct Broken: Sendable {
        public let copy: StoredCopy
        public var finding: Finding
    }

    /// The result of one pass.
    public struct Result: Sendable {
        /// Findings about databases, drafts, stray and unreadable files.
        public var findings: [Finding] = []
        /// Damaged or missing files of messages and links.
        public var broken: [Broken] = []
        /// Absolute paths of stray files, as in `findings`.
        public fileprivate(set) var strays: [String] = []
        fileprivate var exposed: [ExposedFiles.Exposed] = []
        fileprivate var missingParts: [String] = []
        public fileprivate(set) var databases = 0
        public fileprivate(set) var files = 0
        public fileprivate(set) var bytes: UInt64 = 0

        /// - Parameter time: End of the pass in seconds since 1970.
        public func record(at time: Int64) -> VerificationRecord {
            VerificationRecord(
                time: time, databases: databases, files: files, bytes: bytes,
                findings: findings + broken.map(\.finding))
        }
    }

    /// - Parameter progress: Receives checked and total bytes, often.
    public func run(progress: (_ done: UInt64, _ total: UInt64) -> Void) -> Result {
        var result = Result()
        checkModes(&result)
        checkParts(&result)
        checkDatabases(&result)
        do {
            let contents = try contents()
            check(contents.copies, &result, progress)
            check(contents.spooledDrafts, in: contents.spoolFolder, &result)
            for draft in contents.emptyDrafts {
                result.findings.append(
                    Finding(
                        .missing, draft.path, size: draft.size, detail: "It was not sent yet", outcome: .lost)
                )
            }
            check(strays: contents.strays, &result)
        } catch {
            // Damage of the database is reported above; without its rows no file can be checked.
            let detail = "The files of the profile were not checked: " + sentence(of: error)
            let kind: Finding.Kind = Self.isPassing(error) ? .unreadable : .database
            result.findings.append(Finding(kind, relative(folder), detail: detail, outcome: .lost))
        }
        return result
    }

    private func contents() throws -> ProfileContents {
        switch place {
        case .profile(let profile): try ProfileContents(of: profile, in: directory)
        case .official(_, let number):
            try ProfileContents(ofOfficial: folder, profile: number, key: directory.key)
        }
    }

    // MARK: - Parts

    private func checkParts(_ result: inout Result) {
        do throws(ChatError) {
            for part in try directory.missingParts().filter(place.databases.contains) {
                let content = DirectoryPart(at: part)?.content ?? "data without another copy"
                result.missingParts.append(part)
                result.findings.append(
                    Finding(.missing, part, detail: "It held \(content)", outcome: .replaceable))
            }
        } catch {
            result.findings.append(
                Finding(.unreadable, place.folder, detail: error.sentence, outcome: .lost))
        }
    }

    /// Continues without missing databases, and sets aside files that only they could decrypt. The caller must hold the
    /// profile.
    /// - Returns: The result with the new outcomes.
    public func replaceParts(_ found: Result) -> Result {
        var result = found
        for part in found.missingParts {
            guard let index = result.findings.firstIndex(where: { $0.kind == .missing && $0.path == part })
            else { continue }
            do {
                if let files = try files(onlyIn: part), access(files, F_OK) == 0 {
                    try SetAside(profileFolder: folder).move(files)
                }
                try directory.giveUp(parts: [part])
                result.findings[index].outcome = .replaced
            } catch {
                result.findings[index].detail = sentence(of: error)
            }
        }
        return result
    }

    /// Returns the folder of files that only this database can decrypt. Its successor deletes files without a row.
    private func files(onlyIn part: String) throws -> String? {
        if part.hasSuffix("/outbox/journal.sqlite") { return folder + "/outbox/spool" }
        guard part.hasSuffix("/links.sqlite") else { return nil }
        switch place {
        case .profile(let profile):
            return LinkInventory.folder(in: try directory.folders(of: profile).staging, of: profile)
        case .official(_, let number):
            let staging = try OfficialInventory(folder: folder, key: directory.key).stagingFolder
            return LinkInventory.folder(in: staging, of: Profile(id: number, displayName: ""))
        }
    }

    // MARK: - Modes

    private var exposedFiles: ExposedFiles {
        ExposedFiles(directory: directory.path, profileFolder: folder)
    }

    private func checkModes(_ result: inout Result) {
        let found = exposedFiles.find()
        result.exposed = found.exposed
        for unread in found.unread {
            result.findings.append(
                Finding(
                    .unreadable, unread.path.isEmpty ? "." : unread.path, detail: unread.error.sentence,
                    outcome: .lost))
        }
        for exposed in result.exposed {
            let mode = String(exposed.mode, radix: 8)
            result.findings.append(
                Finding(
                    .exposed, exposed.path.isEmpty ? "." : exposed.path, detail: "Its mode is 0\(mode)",
                    outcome: .closable))
        }
    }

    /// Removes the access of other users. The caller must hold the profile.
    /// - Returns: The result with the new outcomes.
    public func closeExposed(_ found: Result) -> Result {
        var result = found
        for exposed in found.exposed {
            let path = exposed.path.isEmpty ? "." : exposed.path
            guard let index = result.findings.firstIndex(where: { $0.kind == .exposed && $0.path == path })
            else { continue }
            do throws(SystemError) {
                try exposedFiles.close(exposed)
                result.findings[index].outcome = .closed
            } catch {
                result.findings[index].detail = error.sentence
            }
        }
        return result
    }

    // MARK: - Databases

    /// Checks the database of a directory that cannot be opened. Returns nil if it is undamaged. Blocks.
    public static func damage(ofDirectory path: String, key: SecretBytes?) -> Finding? {
        let problems = try? DatabaseCheck.problems(path: path + "/chatfs.db", key: key)
        guard let first = problems?.first else { return nil }
        return Finding(.database, "chatfs.db", detail: first, outcome: .lost)
    }

    private func checkDatabases(_ result: inout Result) {
        for path in place.databases.map({ "\(directory.path)/\($0)" }) where access(path, F_OK) == 0 {
            result.databases += 1
            do throws(StoreError) {
                guard let first = try DatabaseCheck.problems(path: path, key: directory.key).first else {
                    continue
                }
                result.findings.append(.init(.database, relative(path), detail: first, outcome: .lost))
            } catch {
                let kind: Finding.Kind = Self.isPassing(error.code) ? .unreadable : .database
                result.findings.append(.init(kind, relative(path), detail: error.sentence, outcome: .lost))
            }
        }
    }

    private static func isPassing(_ error: any Error) -> Bool {
        error.nearest(StoreError.self).map { isPassing($0.code) } ?? false
    }

    /// True if the code describes the machine's current state and not the database.
    private static func isPassing(_ code: StoreError.Code) -> Bool {
        [.busy, .diskFull, .noMemory, .tooManyFiles, .notAllowed].contains(code)
    }

    // MARK: - Files

    private func check(
        _ copies: [StoredCopy], _ result: inout Result, _ progress: (UInt64, UInt64) -> Void
    ) {
        let total = copies.lazy.compactMap(\.size).saturatingSum
        for copy in copies {
            var done = result.bytes
            let condition = copy.examine { count in
                done.addSaturating(count)
                progress(done, total)
            }
            result.bytes.addSaturating(copy.size ?? 0)
            result.files += 1
            switch condition {
            case .whole: continue
            case .damaged(let detail): add(copy, .damaged, detail, to: &result)
            case .contradictory:
                add(copy, .contradictory, "Its SHA-512 differs from its description", to: &result)
            case .missing: add(copy, .missing, "The message exists, but its file does not", to: &result)
            case .unreadable(let detail): add(copy, .unreadable, detail, to: &result)
            }
        }
    }

    private func add(_ copy: StoredCopy, _ kind: Finding.Kind, _ detail: String, to result: inout Result) {
        // Deleted or replaced while it was read.
        guard isStillThere(copy) else { return }
        // An unreadable copy is not given up for a relay's, and relays have the same contradictory bytes.
        let isMendable = kind != .unreadable && kind != .contradictory
        let finding = Finding(
            kind, copy.path, size: copy.size, detail: detail,
            outcome: !isMendable
                ? .lost : copy.isReceivable ? .receivable : copy.isRefetchable ? .refetchable : .lost)
        if copy.file == nil || !isMendable {
            result.findings.append(finding)
        } else {
            result.broken.append(Broken(copy: copy, finding: finding))
        }
    }

    private func check(
        _ drafts: [(path: String, file: SpooledFile)], in spool: String, _ result: inout Result
    ) {
        for draft in drafts {
            do throws(CryptographyError) {
                try draft.file.examine(in: spool) { _ in }
                result.files += 1
                result.bytes.addSaturating(draft.file.size)
            } catch {
                let kind: Finding.Kind
                switch StoredCopy.condition(for: error) {
                // Sent or removed meanwhile.
                case .missing, .whole, .contradictory: continue
                case .damaged: kind = .damaged
                case .unreadable: kind = .unreadable
                }
                result.findings.append(
                    Finding(
                        kind, draft.path, size: draft.file.size,
                        detail: "It was not sent yet. \(error.sentence)", outcome: .lost))
            }
        }
    }

    private func isStillThere(_ copy: StoredCopy) -> Bool {
        guard case .profile(let profile) = place, let file = copy.file, file < .firstOfLinks else {
            return isAlone || !copy.isRefetchable || stillKeeps(copy)
        }
        // If the database no longer tells, the finding stands.
        guard let item = try? directory.item(of: file, of: profile) else { return isAlone }
        return item.file?.source == copy.source
    }

    private func stillKeeps(_ copy: StoredCopy) -> Bool {
        guard let inventory = try? OfficialInventory(folder: folder, key: directory.key) else { return true }
        return inventory.copies.contains { $0.source == copy.source }
    }

    // MARK: - Stray files

    private func check(strays: [String], _ result: inout Result) {
        let now = SystemWallClock().now().seconds
        for path in strays {
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            if !isAlone, Int64(status.st_ctim.tv_sec) > now - Self.leastAge { continue }
            result.strays.append(path)
            result.findings.append(
                Finding(
                    .stray, relative(path), size: UInt64(status.st_size),
                    detail: "No message, link or draft refers to it", outcome: .removable))
        }
    }

    /// Sets stray files aside. The caller must hold the profile.
    /// - Returns: The result with the new outcomes. Files that could not be moved keep their findings.
    public func setStraysAside(_ found: Result) -> Result {
        guard !found.strays.isEmpty else { return found }
        var result = found
        result.strays = []
        for path in found.strays {
            let index = result.findings.firstIndex { $0.kind == .stray && $0.path == relative(path) }
            do throws(SystemError) {
                try SetAside(profileFolder: folder).move(path)
                if let index { result.findings[index].outcome = .setAside }
            } catch {
                result.strays.append(path)
                if let index { result.findings[index].detail = error.sentence }
            }
        }
        return result
    }

    private func relative(_ path: String) -> String { path.path(below: directory.path) ?? path }
}
