import Base
import ChatCore
import FoundationEssentials

/// What a link of ChatFS says of its file beside the description, in the field that is left to applications (`data`):
/// with it a placeholder has its name and size before a byte is fetched. What strangers wrote there is checked by
/// `init(_:)`, and the size once more when the file comes.
public struct LinkFacts: Hashable, Sendable {
    /// Made safe.
    public var name: String?
    /// Bytes of plaintext.
    public var size: UInt64?
    /// When relays drop it.
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

    /// From the field of a link; what makes no sense in it is left out.
    public init(_ data: String?) {
        guard let data, data.utf8.count <= Self.longest,
            let fields = try? JSONDecoder().decode(Fields.self, from: Data(data.utf8))
        else { return }
        name = fields.name.flatMap(SafeFileName.make(from:))
        size = fields.size.flatMap { $0 <= FilePolicy.standaloneLimit ? $0 : nil }
        expires = fields.expires.flatMap { 1..<Self.latest ~= $0 ? Timestamp(seconds: $0) : nil }
    }

    /// The field of a link.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let fields = Fields(name: name, size: size, expires: expires?.seconds)
        // Text and numbers always fit.
        return (try? encoder.encode(fields)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
