import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Posix
import Store

/// Reads an archive that anybody may have made, and says what is damaged, missing or changed in it. Writes nothing but
/// its databases, as they lie in the archive, into a folder of its own that goes in the end. All calls block.
public struct ArchiveVerification: Sendable {
    /// Something that is not as it was written.
    public struct Problem: Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// The archive as a whole.
            case archive
            case database
            case damaged
            case missing
        }

        public let kind: Kind
        /// In the archive; empty for the archive itself.
        public let path: String
        public let size: UInt64?
        public let sentence: String
    }

    /// What a pass found.
    public struct Result: Sendable {
        public fileprivate(set) var problems: [Problem] = []
        public fileprivate(set) var databases = 0
        /// Other files than databases.
        public fileprivate(set) var files = 0
        /// All of them together.
        public fileprivate(set) var bytes: UInt64 = 0
    }

    private let extraction: Extraction
    private let size: UInt64

    /// How the name of a folder for the databases begins. What a killed verification left under such a name goes when
    /// the next one uses the same parent folder.
    public static let scratchPrefix = ScratchFolder.prefix

    /// Reads the manifest.
    /// - Parameter archive: open for reading; a file, no pipe.
    /// - Throws: `.noLibrary`, `.malformed`, `.newerVersion`, `.file`.
    public init(_ archive: OpenFile) throws(ArchiveError) {
        size = try wrappingSystemError { () throws(SystemError) in try archive.size() }
        extraction = try Extraction(archive)
    }

    /// What it is about, where it cannot be opened as an archive at all.
    public static func problem(_ error: ArchiveError) -> Problem? {
        switch error.code {
        case .malformed, .damaged, .newerVersion:
            Problem(kind: .archive, path: "", size: nil, sentence: error.sentence)
        case .noLibrary, .noSpace, .file: nil
        }
    }

    /// Compares every file with the manifest. With a passphrase also the manifest with its tag, every page of the
    /// databases, every CryptoFile with its tag, and what the databases name with what is there.
    ///
    /// - Parameters:
    ///   - passphrase: nil: nobody can tell then whether somebody changed the files and the manifest with them.
    ///   - scratch: the folder for the databases. Absolute; must not be there.
    ///   - progress: told bytes done of all, often.
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

    /// The CryptoFiles that the databases name, with their keys.
    private func lookIntoDatabases(
        _ key: SecretBytes, _ scratch: String, _ result: inout Result
    ) throws -> [EntryName: FileArguments] {
        let place = try ScratchFolder(scratch)
        defer { place.remove() }
        let folder = place.folder
        let databases = extraction.manifest.entries.filter { ArchivedFile.isDatabase($0.name) }
        let needed = databases.reduce(UInt64(0)) { $0 + $1.size }
        // Nothing in it is compressed.
        guard needed <= size else { throw ArchiveError.malformed("its databases are larger than it is") }
        guard try folder.directory.availableBytes() >= needed else {
            throw ArchiveError(
                .noSpace,
                "The databases of the archive need \(ByteCount.rounded(needed)) to be looked into, and that is not free in "
                    + "\(scratch.parentPath): free some space, or name another folder with TMPDIR.")
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
        // What a damaged one names nobody knows.
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
                            "A message or a link has it, and it was not there when the archive was written."))
                continue
            }
            // A row without a key opens nothing.
            named[name] = file.arguments ?? FileArguments(key: [], nonce: [])
        }
        return named
    }
}
