import Base
import Cryptography

/// The list of an archive's files: `manifest.json`, the last entry but one. It is plain text, but contains only random
/// names, sizes and digests; the sealed databases tell which file is whose. The last entry is its tag, which requires
/// the archive's key.
public struct Manifest: Hashable, Sendable {
    /// One file.
    public struct Entry: Hashable, Sendable {
        public var name: EntryName
        /// In bytes.
        public var size: UInt64
        /// The SHA-256, 32 bytes.
        public var digest: [UInt8]
        /// Whether the file was damaged before it was archived.
        public var isDamaged = false
    }

    /// The time of the snapshot, in seconds since 1970.
    public var created: Int64
    /// The program that wrote it, for people.
    public var program: String
    public var entries: [Entry]

    public static let name = "manifest.json"
    public static let tagName = "manifest.tag"
    static let format = "chatfs archive"
    /// Version 1 had no tag.
    static let version = 2
    /// The longest text in bytes.
    public static let longest = 256 << 20
    public static let maxEntries = 1_000_000
    /// The size of all files in bytes: the required disk space.
    public var total: UInt64 { entries.reduce(0) { $0 + $1.size } }
}

extension Manifest {
    /// Returns the tag of a manifest with this digest.
    /// - Parameter key: The key of the archive.
    static func tag(of digest: [UInt8], key: SecretBytes) -> SecretBytes {
        let own = BLAKE2b.derive("chatfs archive: key of the manifest", [], from: key)
        return BLAKE2b.derive("chatfs archive: tag of the manifest", digest, from: own)
    }

    private struct Wire: Codable {
        struct Entry: Codable {
            var name: String
            var size: UInt64
            var sha256: String
            /// Only for damaged files.
            var damaged: Bool?
        }

        var format: String
        var version: Int
        var created: Int64
        var program: String
        var entries: [Entry]
    }

    /// JSON in UTF-8. Equal manifests give equal bytes.
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

    /// Decodes an untrusted manifest.
    /// - Throws: `.malformed` for another format, invalid or duplicate names, and impossible sizes; `.newerVersion`.
    public init(_ bytes: [UInt8]) throws(ArchiveError) {
        guard bytes.count <= Self.longest, let wire = JSONText.decoded(Wire.self, from: bytes),
            wire.format == Self.format
        else { throw .malformed("its manifest cannot be read") }
        guard wire.version <= Self.version else {
            throw ArchiveError(
                .newerVersion, "The archive was written by a newer version of ChatFS; update ChatFS.")
        }
        guard wire.version != 1 else {
            throw ArchiveError(
                .malformed,
                "The archive was written by an early version of ChatFS and cannot be authenticated; "
                    + "write another with this version.")
        }
        guard wire.version == Self.version, wire.entries.count <= Self.maxEntries,
            wire.program.utf8.count <= 200
        else { throw .malformed("its manifest is invalid") }
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
                throw .malformed("a name in its manifest is invalid or duplicate")
            }
            guard let digest = Hexadecimal.decode(entry.sha256), digest.count == 32, entry.size <= 1 << 62
            else {
                throw .malformed("a size or digest in its manifest is invalid")
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

    /// Throws if a file is also a folder of another.
    private static func expectNoFolders(_ names: Set<EntryName>) throws(ArchiveError) {
        for name in names {
            let parts = name.parts
            for count in 1..<parts.count {
                let parent = EntryName(parts[..<count].joined(separator: "/"))
                guard parent.map(names.contains) != true else {
                    throw .malformed("a file in its manifest is also a folder")
                }
            }
        }
    }
}
