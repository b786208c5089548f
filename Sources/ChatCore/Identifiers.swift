/// Ids given by a core: small positive integers, unique per profile and kind, never reused. The database ids
/// of the SimpleX chat API.
public struct ItemID: Hashable, Comparable, Sendable, Codable {
    public let rawValue: Int64
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

public struct FileID: Hashable, Comparable, Sendable, Codable {
    public let rawValue: Int64
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A chat: `@7` a contact, `#3` a group, `*1` the notes, `~1` the folder of links.
public enum ChatReference: Hashable, Sendable, Codable, CustomStringConvertible {
    case direct(Int64)
    case group(Int64)
    case notes(Int64)
    /// Files without a chat, known by their links (`LinkKeeping`).
    case links

    public var description: String {
        switch self {
        case .direct(let id): "@\(id)"
        case .group(let id): "#\(id)"
        case .notes(let id): "*\(id)"
        case .links: "~1"
        }
    }

    /// Parses the text form.
    public init?(_ text: some StringProtocol) {
        guard let kind = text.first, let id = Int64(text.dropFirst()), id > 0 else { return nil }
        switch kind {
        case "@": self = .direct(id)
        case "#": self = .group(id)
        case "*": self = .notes(id)
        case "~" where id == 1: self = .links
        default: return nil
        }
    }
}
