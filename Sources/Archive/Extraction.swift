import Base
import Cryptography
import Glibc
import KeySlots
import Posix

/// Extracts an archive into a folder. Drops entries that the manifest does not name, names twice, or gives another size
/// or digest. Never writes more bytes than the manifest says. A file gets its name when it is complete and durable, so
/// an interrupted extraction can continue. All calls block.
public struct Extraction: Sendable {
    private let file: OpenFile
    public let manifest: Manifest
    private let manifestDigest: [UInt8]
    /// nil if there is no valid tag.
    private let tag: [UInt8]?

    /// An entry that was not extracted, and the reason.
    public struct Failure: Hashable, Sendable {
        public let name: EntryName
        public let sentence: String
    }

    private static let pieceLength = 1 << 20

    /// Finds and reads the manifest. `authenticate` verifies it.
    /// - Parameter file: The archive, a seekable file open for reading.
    /// - Throws: `.noLibrary`, `.malformed`, `.newerVersion`, `.file`.
    public init(_ file: OpenFile) throws(ArchiveError) {
        self.file = file
        let reader = try ArchiveReader(file)
        var count = 0
        var found: [String: [UInt8]] = [:]
        while let name = try reader.next() {
            count += 1
            guard count <= Manifest.maxEntries + 2 else { throw .malformed("it has too many entries") }
            guard let limit = Self.limits[name.text] else { continue }
            guard found.updateValue(try Self.bytes(reader, limit: limit), forKey: name.text) == nil else {
                throw .malformed("it has two manifests")
            }
        }
        guard let bytes = found[Manifest.name] else { throw .malformed("it has no manifest") }
        manifest = try Manifest(bytes)
        manifestDigest = BLAKE2b.hash(bytes)
        tag = found[Manifest.tagName].flatMap { Hexadecimal.decode(String(decoding: $0, as: UTF8.self)) }
    }

    /// The maximum lengths of the manifest and its tag.
    private static let limits = [Manifest.name: Manifest.longest, Manifest.tagName: BLAKE2b.length * 2]

    /// Verifies the manifest.
    /// - Parameter key: The key of the archive.
    /// - Throws: `.malformed` if the manifest was changed. Its content is then untrustworthy.
    public func authenticate(with key: SecretBytes) throws(ArchiveError) {
        let right = Manifest.tag(of: manifestDigest, key: key)
        guard let tag, SecretBytes(tag).isEqual(to: right) else {
            throw ArchiveError(
                .malformed,
                "The list of files in the archive was changed after it was written; use another copy."
            )
        }
    }

    /// Checks that the archive has the form of a data directory, unlocks it and authenticates it.
    /// - Returns: The key of its databases.
    /// - Throws: `ArchiveError` `.malformed`, `.damaged`; `KeySlotsError`: `.wrongSecret` and others.
    func unlock(with passphrase: SecretBytes) throws -> SecretBytes {
        guard let keys = EntryName(ArchivedFile.keys), let database = EntryName(ArchivedFile.database) else {
            preconditionFailure("own names are valid")
        }
        let names = manifest.entries.map(\.name)
        guard names.allSatisfy(ArchivedFile.isKnown), names.contains(database) else {
            throw ArchiveError.malformed("it contains other files too")
        }
        let slots = try KeySlots(bytes(of: keys, limit: 64 << 10))
        let key = try slots.unlock(with: .passphrase(passphrase)).dataKey
        try authenticate(with: key)
        return key
    }

    /// Returns the bytes of one small entry.
    /// - Throws: `.damaged` if the entry differs from the manifest or has more than `limit` bytes.
    public func bytes(of name: EntryName, limit: Int) throws(ArchiveError) -> [UInt8] {
        guard let entry = manifest.entries.first(where: { $0.name == name }), entry.size <= UInt64(limit)
        else {
            throw .malformed("\(name) is missing")
        }
        let reader = try ArchiveReader(file)
        while let found = try reader.next() {
            guard found == name else { continue }
            let bytes = try Self.bytes(reader, limit: Int(entry.size))
            guard UInt64(bytes.count) == entry.size, SHA256.hash(bytes) == entry.digest else { break }
            return bytes
        }
        throw ArchiveError(.damaged, "\(name) in the archive is damaged: it differs from the manifest.")
    }

    /// Extracts the entries of the manifest.
    ///
    /// - Parameters:
    ///   - folder: The destination. Its subfolders get mode 0700, files 0600.
    ///   - isWanted: Selects entries; nil selects all.
    ///   - progress: Receives bytes done and in total. Called often.
    /// - Returns: The failed entries, in the order of the archive and then of the manifest. Damage to one file does not
    ///   stop the others.
    /// - Throws: `.noSpace` and `.file` for the folder; `.malformed` if the rest of the archive cannot be read.
    public func run(
        into folder: OpenFile, only isWanted: ((EntryName) -> Bool)? = nil,
        progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(ArchiveError) -> [Failure] {
        var wanted = Dictionary(uniqueKeysWithValues: manifest.entries.map { ($0.name, $0) })
        var failures: [Failure] = []
        let total = manifest.total
        var done: UInt64 = 0
        let reader = try ArchiveReader(file)
        while let name = try reader.next() {
            if Self.limits[name.text] != nil { continue }
            guard let entry = wanted.removeValue(forKey: name) else {
                throw .malformed("an entry is duplicate or not in its manifest")
            }
            if isWanted?(name) == false { continue }
            let before = done
            done += entry.size
            let place = try Place(name, in: folder)
            if try place.holds(entry) {
                progress(done, total)
                continue
            }
            var position = before
            let isWhole = try place.take(entry, Self.pieceLength, from: reader) { count in
                position += count
                progress(min(position, done), total)
            }
            if !isWhole {
                failures.append(Failure(name: name, sentence: Self.changed))
            }
        }
        return failures
            + wanted.keys.sorted().filter { isWanted?($0) != false }.map {
                Failure(name: $0, sentence: Self.absent)
            }
    }

    /// Reads all entries of the manifest without writing. Entries are never compressed, so reading stops if they exceed
    /// the archive's length.
    ///
    /// - Parameters:
    ///   - tags: The arguments of CryptoFiles by name, whose tags are checked too.
    ///   - progress: Receives bytes done and in total. Called often.
    /// - Returns: The damaged and missing entries.
    /// - Throws: `.file`; `.malformed` if the rest of the archive cannot be read.
    func examine(
        tags: [EntryName: FileArguments], progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(ArchiveError) -> [(failure: Failure, isMissing: Bool)] {
        var wanted = Dictionary(uniqueKeysWithValues: manifest.entries.map { ($0.name, $0) })
        var found: [(failure: Failure, isMissing: Bool)] = []
        let total = manifest.total
        var done: UInt64 = 0
        var left = try wrappingSystemError { () throws(SystemError) in try file.size() }
        let reader = try ArchiveReader(file)
        while let name = try reader.next() {
            if Self.limits[name.text] != nil { continue }
            guard let entry = wanted.removeValue(forKey: name) else {
                throw .malformed("an entry is duplicate or not in its manifest")
            }
            var tag = tags[name].map { TagCheck($0, size: entry.size) }
            var position = done
            let isAsSaid = try reader.has(entry, Self.pieceLength) { (piece) throws(ArchiveError) in
                guard UInt64(piece.count) <= left else {
                    throw .malformed("its entries are larger than the archive")
                }
                left -= UInt64(piece.count)
                tag??.take(piece)
                position += UInt64(piece.count)
                progress(min(position, total), total)
            }
            done += entry.size
            progress(done, total)
            if !isAsSaid {
                found.append((Failure(name: name, sentence: Self.changed), false))
            } else if entry.isDamaged {
                found.append(
                    (Failure(name: name, sentence: "It was damaged before it was archived."), false))
            } else if let tag, tag?.isAuthentic != true {
                found.append(
                    (
                        Failure(
                            name: name, sentence: "Its tag is wrong: it was damaged before it was archived."),
                        false
                    ))
            }
        }
        for name in wanted.keys.sorted() { found.append((Failure(name: name, sentence: Self.absent), true)) }
        return found
    }

    private static let absent = "It is not in the archive."
    private static let changed = "It is damaged: it differs from the manifest."

    private static func bytes(_ reader: ArchiveReader, limit: Int) throws(ArchiveError) -> [UInt8] {
        var bytes: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = try reader.read(into: buffer)
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw .malformed("an entry is too large")
            }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}

/// The destination of one entry.
private struct Place {
    private let folder: OpenFile
    private let name: String
    private var unfinished: String { ".\(name).new" }

    init(_ entry: EntryName, in root: OpenFile) throws(ArchiveError) {
        var folder = root
        let parts = entry.parts
        for part in parts.dropLast() {
            folder = try wrappingSystemError { () throws(SystemError) in
                try PrivateFolder.folder(part, in: folder)
            }
        }
        self.folder = folder
        name = parts[parts.count - 1]
    }

    /// Returns whether an earlier extraction wrote the same bytes.
    func holds(_ entry: Manifest.Entry) throws(ArchiveError) -> Bool {
        guard let file = try? OpenFile(name, flags: O_RDONLY | O_NOFOLLOW, in: folder),
            try wrappingSystemError({ () throws(SystemError) in try file.size() }) == entry.size
        else { return false }
        var digest = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while position < entry.size {
            let count = try wrappingSystemError { () throws(SystemError) in
                try file.read(into: buffer, at: position)
            }
            if count == 0 { return false }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            position += UInt64(count)
        }
        return digest.finalize() == entry.digest
    }

    /// Writes the entry up to its announced size. Returns false, without leaving a file, if it differs from the
    /// manifest.
    func take(
        _ entry: Manifest.Entry, _ pieceLength: Int, from reader: ArchiveReader, progress: (UInt64) -> Void
    ) throws(ArchiveError) -> Bool {
        let file = try wrappingSystemError { () throws(SystemError) in
            try OpenFile(unfinished, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, in: folder)
        }
        do throws(ArchiveError) {
            guard try write(entry, to: file, pieceLength, from: reader, progress) else {
                unlinkat(folder.descriptor, unfinished, 0)
                return false
            }
            try wrappingSystemError { () throws(SystemError) in
                try file.synchronise()
                try check("give a file its name") {
                    renameat(folder.descriptor, unfinished, folder.descriptor, name)
                }
            }
            return true
        } catch {
            unlinkat(folder.descriptor, unfinished, 0)
            throw error
        }
    }

    private func write(
        _ entry: Manifest.Entry, to file: OpenFile, _ pieceLength: Int, from reader: ArchiveReader,
        _ progress: (UInt64) -> Void
    ) throws(ArchiveError) -> Bool {
        var position: UInt64 = 0
        return try reader.has(entry, pieceLength) { (piece) throws(ArchiveError) in
            try wrappingSystemError { () throws(SystemError) in try file.write(piece, at: position) }
            position += UInt64(piece.count)
            progress(UInt64(piece.count))
        }
    }
}

extension ArchiveReader {
    /// Reads the current entry to its end. Returns false if its size or digest differs from the manifest. `take` then
    /// received some of its bytes, but none beyond the announced size.
    /// - Parameters:
    ///   - pieceLength: The number of bytes per read.
    ///   - take: Receives each piece, in order.
    /// - Throws: The errors of `take`; `.file`.
    fileprivate func has(
        _ entry: Manifest.Entry, _ pieceLength: Int,
        take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceLength, alignment: 4096)
        defer { buffer.deallocate() }
        var digest = SHA256()
        var position: UInt64 = 0
        while true {
            let count: Int
            do throws(ArchiveError) {
                count = try read(into: buffer)
            } catch {
                // Changed bytes affect only this entry; a disk error stops the extraction.
                guard error.code == .malformed else { throw error }
                return false
            }
            if count == 0 { return position == entry.size && digest.finalize() == entry.digest }
            guard UInt64(count) <= entry.size - position else { return false }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            digest.update(piece)
            try take(piece)
            position += UInt64(count)
        }
    }
}
