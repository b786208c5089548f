import Base
import Cryptography

/// The first page of a sealed database file, written once. It can be read without a key and tells which key the file
/// needs.
///
///     0   magic, 16 bytes
///     16  version, page size, reserved bytes of a page: 4 bytes each, little endian; 4 zeros
///     32  identity, 32 random bytes: derives the keys of this file from the data key
///     64  proof of the key: keyed BLAKE2b of the bytes before it
///     96  BLAKE2b of the bytes before it: distinguishes damage from a wrong key
///     512 the record of the last checkpoint (`CheckpointRecord`), the only part that changes
struct DatabaseHeader: Equatable {
    static let magic = Array("ChatFS-pages".utf8) + [0x0D, 0x0A, 0x1A, 0x0A]
    static let version: UInt32 = 1
    static let length = FileLayout.pageSize
    /// The number of bytes that `parse` needs.
    static let provenLength = 128
    static let checkpointPosition: Int64 = 512
    static let identityLength = 32

    private static let plainMagic = Array("SQLite format 3\0".utf8)

    let identity: [UInt8]

    /// Returns the header of a new database.
    static func random() -> DatabaseHeader {
        DatabaseHeader(identity: SystemRandomSource().bytes(identityLength))
    }

    /// Returns the page on disk, without a checkpoint.
    func encoded(provenBy dataKey: SecretBytes) -> [UInt8] {
        var bytes = Self.magic
        for number in [Self.version, UInt32(FileLayout.pageSize), UInt32(FileLayout.reservedLength), 0] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        bytes += identity
        bytes += Self.proof(of: bytes, by: dataKey)
        bytes += BLAKE2b.hash(bytes)
        return bytes + [UInt8](repeating: 0, count: Self.length - bytes.count)
    }

    /// Parses the beginning of a file.
    ///
    /// - Parameter size: The size of the whole file in bytes.
    /// - Throws: `.notADatabase`, `.notSealed`, `.newerVersion`, `.damaged`, `.wrongKey`.
    static func parse(
        _ bytes: [UInt8], size: Int64, dataKey: SecretBytes
    ) throws(SealedPagesError) -> DatabaseHeader {
        guard bytes.starts(with: magic) else {
            throw bytes.starts(with: plainMagic) ? .notSealed : .notADatabase
        }
        guard bytes.count >= provenLength else { throw .damagedHeader }
        guard BLAKE2b.hash(Array(bytes[..<96])) == Array(bytes[96..<128]) else { throw .damagedHeader }
        let numbers: [UInt32] = bytes.withUnsafeBytes { bytes in
            [16, 20, 24].map {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
            }
        }
        guard numbers == [version, UInt32(FileLayout.pageSize), UInt32(FileLayout.reservedLength)] else {
            throw .newerVersion
        }
        guard constantTimeEqual(proof(of: Array(bytes[..<64]), by: dataKey), Array(bytes[64..<96])) else {
            throw .wrongKey
        }
        // A new file is named only after its first page was written.
        guard size >= length + FileLayout.pageSize else { throw .cutShort }
        return DatabaseHeader(identity: Array(bytes[32..<64]))
    }

    /// Returns the key that seals the records of this file.
    func recordKey(from dataKey: SecretBytes) -> SecretBytes {
        BLAKE2b.derive("chatfs sealed pages: records", identity, from: dataKey)
    }

    private static func proof(of bytes: [UInt8], by dataKey: SecretBytes) -> [UInt8] {
        BLAKE2b.derive("chatfs sealed pages: proof of the key", bytes, from: dataKey)
            .withUnsafeBytes { Array($0) }
    }
}
