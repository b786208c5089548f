import Base

/// The name of a file in an archive, equal to its path in a data directory: 1 to 16 parts of letters, digits and `-_.`,
/// separated by slashes. No part starts with a dot. Such names cannot leave a folder, be hidden, look like another
/// name, or have another meaning on another system.
public struct EntryName: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String
    public static let longest = 512
    private static let maxParts = 16
    private static let longestPart = 200

    /// Returns nil for invalid names.
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
