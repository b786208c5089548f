import Base
import ChatCore
import FoundationEssentials

/// The name and size in a link's application field (`data`), so that a placeholder has them before any download.
/// `init(_:)` checks a stranger's values, and the size is checked again when the file arrives.
public struct LinkFacts: Hashable, Sendable {
    /// A safe name.
    public var name: String?
    /// Bytes of plaintext.
    public var size: UInt64?
    /// When relays delete it.
    public var expires: Timestamp?

    init() {}

    public init(name: String, size: UInt64, expires: Timestamp?) {
        self.name = name
        self.size = size
        self.expires = expires
    }

    private struct Fields: Codable {
        var name: String?
        var size: UInt64?
        var expires: Int64?
    }

    private static let longest = 4096
    private static let latest: Int64 = 1 << 40

    /// Reads the field of a link and ignores invalid values.
    public init(_ data: String?) {
        guard let data, data.utf8.count <= Self.longest,
            let fields = try? JSONDecoder().decode(Fields.self, from: Data(data.utf8))
        else { return }
        name = fields.name.flatMap(SafeFileName.make(from:))
        size = fields.size.flatMap { $0 <= FilePolicy.standaloneLimit ? $0 : nil }
        expires = fields.expires.flatMap { 1..<Self.latest ~= $0 ? Timestamp(seconds: $0) : nil }
    }

    /// Returns the field of a link.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let fields = Fields(name: name, size: size, expires: expires?.seconds)
        // Text and numbers always fit.
        return (try? encoder.encode(fields)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
