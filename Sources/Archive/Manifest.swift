import Base
import Cryptography

/// What an archive holds: the last entry but one, `manifest.json`, in JSON. It is in clear, and names nothing but random
/// names, sizes and digests; which of them are whose is in the databases, which are sealed. The last entry is a tag of
/// its bytes, which only who has the archive's key can make.
public struct Manifest: Hashable, Sendable {
    /// One file.
    public struct Entry: Hashable, Sendable {
        public var name: EntryName
        /// Bytes.
        public var size: UInt64
        /// SHA-256, 32 bytes.
        public var digest: [UInt8]
        /// It was damaged already when it was archived.
        public var isDamaged: Bool

        public init(name: EntryName, size: UInt64, digest: [UInt8], isDamaged: Bool = false) {
            self.name = name
            self.size = size
            self.digest = digest
            self.isDamaged = isDamaged
        }
    }

    /// When the snapshot was made, seconds since 1970.
    public var created: Int64
    /// What wrote it, for people.
    public var program: String
    public var entries: [Entry]

    public static let name = "manifest.json"
    public static let tagName = "manifest.tag"
    static let format = "chatfs archive"
    /// The first one had no tag.
    static let version = 2
    /// Bytes of the text, and files.
    public static let longest = 256 << 20
    public static let maxEntries = 1_000_000
    /// All files together: an archive says what it will take from the disk before it is unpacked.
    public var total: UInt64 { entries.reduce(0) { $0 + $1.size } }

    public init(created: Int64, program: String, entries: [Entry]) {
        self.created = created
        self.program = program
        self.entries = entries
    }

    /// Of a manifest's bytes, by their digest.
    /// - Parameter key: of the archive.
    static func tag(of digest: [UInt8], key: SecretBytes) -> SecretBytes {
        let own = BLAKE2b.derive("chatfs archive: key of the manifest", [], from: key)
        return BLAKE2b.derive("chatfs archive: tag of the manifest", digest, from: own)
    }

    private struct Wire: Codable {
        struct Entry: Codable {
            var name: String
            var size: UInt64
            var sha256: String
            /// Only of one that is.
            var damaged: Bool?
        }

        var format: String
        var version: Int
        var created: Int64
        var program: String
        var entries: [Entry]
    }

    /// JSON in UTF-8, always the same for the same.
    public var encoded: [UInt8] {
        let wire = Wire(
            format: Self.format, version: Self.version, created: created, program: program,
            entries: entries.map {
                .init(
                    name: $0.name.text, size: $0.size, sha256: Hexadecimal.encode($0.digest),
                    damaged: $0.isDamaged ? true : nil)
            })
        return JSONText.encoded(wire)
    }

    /// Reads what anybody may have written.
    /// - Throws: `.malformed` for another format, a name that is none or is there twice, sizes that cannot be; a size
    ///   of all together that no disk has; `.newerVersion`.
    public init(_ bytes: [UInt8]) throws(ArchiveError) {
        guard bytes.count <= Self.longest, let wire = JSONText.decoded(Wire.self, from: bytes),
            wire.format == Self.format
        else { throw .malformed("its manifest cannot be read") }
        guard wire.version <= Self.version else {
            throw ArchiveError(
                .newerVersion, "The archive was written by a newer version of ChatFS: update ChatFS.")
        }
        guard wire.version != 1 else {
            throw ArchiveError(
                .malformed,
                "The archive was written by an early version of ChatFS, and nobody can tell whether it was changed since: "
                    + "write another with this version.")
        }
        guard wire.version == Self.version, wire.entries.count <= Self.maxEntries,
            wire.program.utf8.count <= 200
        else { throw .malformed("its manifest makes no sense") }
        self.init(
            created: wire.created, program: wire.program, entries: try Self.entries(wire.entries))
    }

    private static func entries(_ wire: [Wire.Entry]) throws(ArchiveError) -> [Entry] {
        var entries: [Entry] = []
        var names: Set<EntryName> = []
        var total: UInt64 = 0
        for entry in wire {
            guard let name = EntryName(entry.name), names.insert(name).inserted,
                ![Self.name, tagName].contains(name.text)
            else {
                throw .malformed("a name in its manifest is none, or is there twice")
            }
            guard let digest = Hexadecimal.decode(entry.sha256), digest.count == 32, entry.size <= 1 << 62
            else {
                throw .malformed("a size or digest in its manifest makes no sense")
            }
            total += entry.size
            guard total <= 1 << 62 else { throw .malformed("its files are larger than any disk") }
            entries.append(
                Entry(
                    name: name, size: entry.size, digest: digest, isDamaged: entry.damaged ?? false))
        }
        try expectNoFolders(names)
        return entries
    }

    /// No file can be a folder of another.
    private static func expectNoFolders(_ names: Set<EntryName>) throws(ArchiveError) {
        for name in names {
            let parts = name.parts
            for count in 1..<parts.count {
                let parent = EntryName(parts[..<count].joined(separator: "/"))
                guard parent.map(names.contains) != true else {
                    throw .malformed("a file of its manifest is a folder too")
                }
            }
        }
    }
}
