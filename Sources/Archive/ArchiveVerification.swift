import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Posix
import Store

/// Verifies an untrusted archive and reports damaged, missing and changed files. Extracts only its databases, still
/// sealed, into a temporary folder. All calls block.
public struct ArchiveVerification: Sendable {
    /// A deviation from the written archive.
    public struct Problem: Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// The archive as a whole.
            case archive
            case database
            case damaged
            case missing
        }

        public let kind: Kind
        /// The path in the archive, empty for the archive itself.
        public let path: String
        public let size: UInt64?
        public let sentence: String
    }

    /// The result of a verification.
    public struct Result: Sendable {
        public fileprivate(set) var problems: [Problem] = []
        public fileprivate(set) var databases = 0
        /// The number of files without databases.
        public fileprivate(set) var files = 0
        /// The size of all files in bytes.
        public fileprivate(set) var bytes: UInt64 = 0
    }

    private let extraction: Extraction
    private let size: UInt64

    /// How the name of a folder for the databases begins. What a killed verification left under such a name goes when
    /// the next one uses the same parent folder.
    public static let scratchPrefix = ScratchFolder.prefix

    /// Reads the manifest.
    /// - Parameter archive: A seekable file, open for reading.
    /// - Throws: `.noLibrary`, `.malformed`, `.newerVersion`, `.file`.
    public init(_ archive: OpenFile) throws(ArchiveError) {
        size = try wrappingSystemError { () throws(SystemError) in try archive.size() }
        extraction = try Extraction(archive)
    }

    /// Returns the problem of an archive that cannot be opened, or nil if the error has another cause.
    public static func problem(_ error: ArchiveError) -> Problem? {
        switch error.code {
        case .malformed, .damaged, .newerVersion:
            Problem(kind: .archive, path: "", size: nil, sentence: error.sentence)
        case .noLibrary, .noSpace, .file: nil
        }
    }

    /// Compares every file with the manifest. With a passphrase, also verifies the manifest's tag, all database pages,
    /// the CryptoFiles' tags and the references of the databases.
    ///
    /// - Parameters:
    ///   - passphrase: The passphrase, or nil. Without it, a consistent change of files and manifest stays undetected.
    ///   - scratch: The absolute path of the temporary folder for the databases, which must not exist.
    ///   - progress: Receives bytes done and in total. Called often.
    /// - Throws: `KeySlotsError`: `.wrongSecret` and others; `ArchiveError`: `.noSpace`, `.file`.
    public func run(
        passphrase: SecretBytes?, scratch: String, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws -> Result {
        var result = Result()
        result.databases = extraction.manifest.entries.count { ArchivedFile.isDatabase($0.name) }
        result.files = extraction.manifest.entries.count - result.databases
        result.bytes = extraction.manifest.total
        do {
            var named: [EntryName: FileArguments] = [:]
            if let passphrase {
                let key = try extraction.unlock(with: passphrase)
                named = try lookIntoDatabases(key, scratch, &result)
            }
            for (failure, isMissing) in try extraction.examine(tags: named, progress: progress)
            where !result.problems.contains(where: { $0.path == failure.name.text }) {
                result.problems.append(problem(failure, isMissing))
            }
        } catch let error as ArchiveError {
            guard let problem = Self.problem(error) else { throw error }
            result.problems.append(problem)
        }
        return result
    }

    private func problem(_ failure: Extraction.Failure, _ isMissing: Bool) -> Problem {
        Problem(
            kind: isMissing ? .missing : ArchivedFile.isDatabase(failure.name) ? .database : .damaged,
            path: failure.name.text,
            size: extraction.manifest.entries.first { $0.name == failure.name }?.size,
            sentence: failure.sentence)
    }

    /// Returns the CryptoFiles named by the databases, with their keys.
    private func lookIntoDatabases(
        _ key: SecretBytes, _ scratch: String, _ result: inout Result
    ) throws -> [EntryName: FileArguments] {
        let place = try ScratchFolder(scratch)
        defer { place.remove() }
        let folder = place.folder
        let databases = extraction.manifest.entries.filter { ArchivedFile.isDatabase($0.name) }
        let needed = databases.reduce(UInt64(0)) { $0 + $1.size }
        // Entries are never compressed.
        guard needed <= size else { throw ArchiveError.malformed("its databases are larger than it is") }
        guard try folder.directory.availableBytes() >= needed else {
            throw ArchiveError(
                .noSpace,
                "The databases of the archive need \(ByteCount.rounded(needed)) for the check, more than is free in "
                    + "\(scratch.parentPath); free some space or set TMPDIR to another folder.")
        }
        var isWhole = true
        for failure in try extraction.run(
            into: folder.directory, only: ArchivedFile.isDatabase, progress: { _, _ in })
        {
            isWhole = false
            result.problems.append(problem(failure, access("\(scratch)/\(failure.name)", F_OK) != 0))
        }
        for entry in databases where access("\(scratch)/\(entry.name)", F_OK) == 0 {
            let problems = try DatabaseCheck.problems(path: "\(scratch)/\(entry.name)", key: key, limit: 1)
            guard let first = problems.first else { continue }
            isWhole = false
            result.problems.append(
                Problem(kind: .database, path: entry.name.text, size: entry.size, sentence: first))
        }
        // References of a damaged database are unknown.
        return isWhole ? try namedFiles(key, scratch, &result) : [:]
    }

    private func namedFiles(
        _ key: SecretBytes, _ root: String, _ result: inout Result
    ) throws -> [EntryName: FileArguments] {
        let copy = DirectoryCopy(at: "\(root)/\(ArchivedFile.database)", key: key)
        var files = try NamedFile.all(of: copy)
        for profile in try copy.profiles() {
            files += try NamedFile.links(of: profile.id, "profiles/\(profile.id)", in: root, key: key)
        }
        for core in try OfficialFolder.all(in: root) {
            for profile in core.profiles {
                files += try NamedFile.official(
                    of: profile, "\(core.name)/profile-\(profile)", in: root, key: key)
            }
        }
        let present = Set(extraction.manifest.entries.map(\.name))
        var named: [EntryName: FileArguments] = [:]
        for file in files {
            guard let name = EntryName(file.name), present.contains(name) else {
                result.problems.append(
                    Problem(
                        kind: .missing, path: file.name, size: nil,
                        sentence:
                            "A message or link refers to it, but it was missing when the archive was written."
                    ))
                continue
            }
            // A row without a key opens nothing.
            named[name] = file.arguments ?? FileArguments(key: [], nonce: [])
        }
        return named
    }
}
