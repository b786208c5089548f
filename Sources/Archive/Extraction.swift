import Base
import Cryptography
import Glibc
import KeySlots
import Posix

/// Takes an archive apart into a folder. What the manifest does not name, names twice, or has with another size or
/// digest, is not kept; no byte beyond the size that the manifest says is ever written. A file gets its name when it is
/// whole and on the disk, so an extraction that was interrupted goes on with what is missing. All calls block.
public struct Extraction: Sendable {
    private let file: OpenFile
    public let manifest: Manifest
    private let manifestDigest: [UInt8]
    /// nil: there is none, or it is no tag.
    private let tag: [UInt8]?

    /// Why an entry was not taken out.
    public struct Failure: Hashable, Sendable {
        public let name: EntryName
        public let sentence: String
    }

    private static let pieceLength = 1 << 20

    /// Finds and reads the manifest. Whether it is the one that was written, `authenticate` says.
    /// - Parameter file: the archive, open for reading; a file, no pipe.
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

    /// How long the entries may be that are no files.
    private static let limits = [Manifest.name: Manifest.longest, Manifest.tagName: BLAKE2b.length * 2]

    /// - Parameter key: of the archive.
    /// - Throws: `.malformed` where the manifest is not as it was written: nothing of what it says is true then.
    public func authenticate(with key: SecretBytes) throws(ArchiveError) {
        let right = Manifest.tag(of: manifestDigest, key: key)
        guard let tag, SecretBytes(tag).isEqual(to: right) else {
            throw ArchiveError(
                .malformed,
                "The archive was changed after it was written: its list of files is another. Use another copy of it."
            )
        }
    }

    /// Looks whether it holds what an archive of a data directory holds, unlocks it and authenticates it.
    /// - Returns: the key of its databases.
    /// - Throws: `ArchiveError` `.malformed`, `.damaged`; `KeySlotsError`: `.wrongSecret` and others.
    func unlock(with passphrase: SecretBytes) throws -> SecretBytes {
        guard let keys = EntryName(ArchivedFile.keys), let database = EntryName(ArchivedFile.database) else {
            preconditionFailure("names of the program's own")
        }
        let names = manifest.entries.map(\.name)
        guard names.allSatisfy(ArchivedFile.isKnown), names.contains(database) else {
            throw ArchiveError.malformed("it holds something else too")
        }
        let slots = try KeySlots(bytes(of: keys, limit: 64 << 10))
        let key = try slots.unlock(with: .passphrase(passphrase)).dataKey
        try authenticate(with: key)
        return key
    }

    /// The bytes of one small entry.
    /// - Throws: `.damaged` where it is not there as the manifest says, or has more than `limit` bytes.
    public func bytes(of name: EntryName, limit: Int) throws(ArchiveError) -> [UInt8] {
        guard let entry = manifest.entries.first(where: { $0.name == name }), entry.size <= UInt64(limit)
        else {
            throw .malformed("\(name) is missing in it")
        }
        let reader = try ArchiveReader(file)
        while let found = try reader.next() {
            guard found == name else { continue }
            let bytes = try Self.bytes(reader, limit: Int(entry.size))
            guard UInt64(bytes.count) == entry.size, SHA256.hash(bytes) == entry.digest else { break }
            return bytes
        }
        throw ArchiveError(.damaged, "\(name) in the archive is not what its manifest says: it is damaged.")
    }

    /// Takes out all that the manifest names.
    ///
    /// - Parameters:
    ///   - folder: where to; folders in it are made, 0700, files 0600.
    ///   - isWanted: which of them; nil: all.
    ///   - progress: told bytes done of all, often.
    /// - Returns: what could not be had, in the order of the archive and then of the manifest: damage of one file is not
    ///   the end of all.
    /// - Throws: `.noSpace`, `.file` for the folder; `.malformed` where the archive cannot be read any further.
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
                throw .malformed("something in it is there twice, or not in its manifest")
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

    /// Reads all that the manifest names, and writes nothing. Nothing in an archive is compressed: one that unfolds to more
    /// than its own length is not read any further.
    ///
    /// - Parameters:
    ///   - tags: of CryptoFiles, by their names: their tags are compared too.
    ///   - progress: told bytes done of all, often.
    /// - Returns: what is damaged or missing, and whether it is missing.
    /// - Throws: `.file`; `.malformed` where the archive cannot be read any further.
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
                throw .malformed("something in it is there twice, or not in its manifest")
            }
            var tag = tags[name].map { TagCheck($0, size: entry.size) }
            var position = done
            let isAsSaid = try reader.has(entry, Self.pieceLength) { (piece) throws(ArchiveError) in
                guard UInt64(piece.count) <= left else { throw .malformed("it unfolds to more than it is") }
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
                    (Failure(name: name, sentence: "It was damaged already when it was archived."), false))
            } else if let tag, tag?.isAuthentic != true {
                found.append(
                    (
                        Failure(
                            name: name, sentence: "Its tag is wrong: it was damaged when it was archived."),
                        false
                    ))
            }
        }
        for name in wanted.keys.sorted() { found.append((Failure(name: name, sentence: Self.absent), true)) }
        return found
    }

    private static let absent = "It is not in the archive."
    private static let changed = "It is not what the manifest says: damaged."

    private static func bytes(_ reader: ArchiveReader, limit: Int) throws(ArchiveError) -> [UInt8] {
        var bytes: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = try reader.read(into: buffer)
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw .malformed("something in it is larger than it may be")
            }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}

/// Where one entry goes.
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

    /// Whether an earlier extraction has it already, byte for byte.
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

    /// Writes what comes, up to the size that was said. False, and nothing there, when it is another.
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
    /// Reads the present entry to its end. Returns false if it has another size or digest than the manifest says; `take`
    /// has then had some of its bytes, and none beyond that size.
    /// - Parameters:
    ///   - pieceLength: bytes that are read at a time.
    ///   - take: told of each piece, in order.
    /// - Throws: what `take` throws; `.file`.
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
                // What was changed in its bytes is one file's matter; a disk that fails is not.
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
