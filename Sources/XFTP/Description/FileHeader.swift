import Base

/// The first bytes of every file's stream: its length, its name, one field that nobody uses today.
///
/// `Int64(header + content) ‖ length-prefixed name ‖ Maybe extra ‖ content ‖ padding ‖ tag`.
public struct FileHeader: Hashable, Sendable {
    /// The sender's name for the file: any characters, made safe by who uses it.
    public let name: String
    /// Position in the stream of the first byte of content.
    public let contentOffset: UInt64
    /// Length of the content in bytes.
    public let contentSize: UInt64

    /// So many bytes of the stream always hold the header.
    public static let maxLength = 8 + Int(ChunkPlan.headerFields.upperBound)

    /// The bytes in front of the content, the 8-byte length included.
    public static func encode(name: String, contentSize: UInt64) -> [UInt8] {
        let name = encodedName(name)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(name.count + 2) + contentSize)
        bytes.append(byteString: name)
        bytes.append(UInt8(ascii: "0"))
        return bytes
    }

    /// Reads the header from the front of the decrypted stream; `streamSize` is the length of the
    /// whole stream with padding and tag. nil when it contradicts itself or the length.
    public init?(stream prefix: [UInt8], streamSize: UInt64) {
        var reader = ByteReader(prefix)
        guard let fileSize = reader.integer(UInt64.self), streamSize >= ChunkPlan.overhead,
            fileSize <= streamSize - ChunkPlan.overhead, let name = reader.byteString(),
            reader.optionalByteString() != nil
        else { return nil }
        let length = UInt64(reader.position - 8)
        guard length <= fileSize else { return nil }
        self.name = String(validating: name, as: UTF8.self) ?? Self.latin1(name)
        contentOffset = 8 + length
        contentSize = fileSize - length
    }

    /// Official writers put the low 8 bits of each code point, official readers take each byte for
    /// one. So a name of Latin-1 goes as Latin-1, unless those bytes would be read as UTF-8 of
    /// another name here; all others go as UTF-8. Cut to 255 bytes in front of the extension.
    private static func encodedName(_ name: String) -> [UInt8] {
        if name.unicodeScalars.allSatisfy({ $0.value < 256 }) {
            let bytes = name.unicodeScalars.map { UInt8($0.value) }
            if bytes.count <= 255,
                bytes.allSatisfy({ $0 < 128 }) || String(validating: bytes, as: UTF8.self) == nil
            {
                return bytes
            }
        }
        if name.utf8.count <= 255 { return Array(name.utf8) }
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 32 { ending = String(name[dot...]) }
        var stem = name.dropLast(ending.count)
        while stem.utf8.count + ending.utf8.count > 255 { stem = stem.dropLast() }
        return Array((stem + ending).utf8)
    }

    private static func latin1(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(UnicodeScalar(byte)) }
        return String(text)
    }
}
