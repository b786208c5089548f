import Base

/// The first bytes of a file's stream: length, name and an unused field.
///
/// `Int64(header + content) ‖ length-prefixed name ‖ Maybe extra ‖ content ‖ padding ‖ tag`.
public struct FileHeader: Hashable, Sendable {
    /// The sender's file name. It may contain any characters, so callers sanitize it.
    public let name: String
    /// The offset of the content in the stream.
    public let contentOffset: UInt64
    /// The length of the content in bytes.
    public let contentSize: UInt64

    /// The longest header in bytes.
    public static let maxLength = 8 + Int(ChunkPlan.headerFields.upperBound)

    /// Returns the bytes before the content, including the 8-byte length.
    public static func encode(name: String, contentSize: UInt64) -> [UInt8] {
        let name = encodedName(name)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(name.count + 2) + contentSize)
        bytes.append(byteString: name)
        bytes.append(UInt8(ascii: "0"))
        return bytes
    }

    /// Decodes the header at the start of the decrypted stream. Returns nil if its lengths are contradictory.
    /// - Parameters:
    ///   - prefix: The first `maxLength` bytes of the stream, or all of it.
    ///   - streamSize: The length of the whole stream with padding and tag, in bytes.
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

    /// Official writers store the low 8 bits of each code point, and official readers map each byte to one. So a
    /// Latin-1 name is written as Latin-1, unless those bytes are valid UTF-8 of another name. Other names are written
    /// as UTF-8, cut to 255 bytes before the extension.
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
