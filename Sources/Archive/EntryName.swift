import Base

/// The name of a file in an archive, which is its path below a data directory too: 1 to 16 parts of letters, digits and
/// `-_.`, none of which begins with a dot, with slashes between. So no name leads out of a folder, is hidden, is another
/// than it looks, or means something else on another system.
public struct EntryName: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String
    public static let longest = 512
    private static let maxParts = 16
    private static let longestPart = 200

    /// nil for what is none. Total.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...Self.longest).contains(bytes.count) else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= Self.maxParts, parts.allSatisfy(Self.isPart) else { return nil }
        self.text = text
    }

    private static func isPart(_ part: ArraySlice<UInt8>) -> Bool {
        guard let first = part.first, first != UInt8(ascii: "."), part.count <= longestPart else {
            return false
        }
        return part.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    public var parts: [String] { text.pathNames }
    public var description: String { text }
    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}
