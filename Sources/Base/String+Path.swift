// The kernel sees bytes, Swift sees characters: in "/a/\u{301}b" the second slash and the accent after it form one
// character, which is no slash. "é" equals its spelling with two scalars, which is another file name. So paths are
// split and compared here by bytes.
extension String {
    private static let slash = UInt8(ascii: "/")

    /// Whether the path starts at the root.
    public var isAbsolutePath: Bool { utf8.first == Self.slash }

    /// The names between slashes, outermost first. Omits empty ones, but keeps `.` and `..`.
    public var pathNames: [String] {
        utf8.split(separator: Self.slash).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The last of `pathNames`, or nil.
    public var lastPathName: String? {
        guard let last = utf8.lastIndex(where: { $0 != Self.slash }) else { return nil }
        let start = utf8[..<last].lastIndex(of: Self.slash).map { utf8.index(after: $0) } ?? utf8.startIndex
        return String(decoding: utf8[start...last], as: UTF8.self)
    }

    /// The text before the last slash: the folder of a path that ends in a name. `/` for a name in the root, `.`
    /// without a slash. Resolves nothing.
    public var parentPath: String {
        guard let last = utf8.lastIndex(of: Self.slash) else { return "." }
        return last == utf8.startIndex ? "/" : String(decoding: utf8[..<last], as: UTF8.self)
    }

    /// The path relative to `folder`, without a leading slash: empty for the folder itself, nil outside it. Both are
    /// absolute, or relative to the same folder. Resolves nothing. Ignores trailing slashes of `folder`.
    public func path(below folder: String) -> String? {
        let names = folder.utf8
        let end = names.lastIndex { $0 != Self.slash }.map { names.index(after: $0) } ?? names.startIndex
        guard utf8.starts(with: names[..<end]) else { return nil }
        let rest = utf8.dropFirst(names.distance(from: names.startIndex, to: end))
        guard rest.first == Self.slash || rest.isEmpty else { return nil }
        return String(decoding: rest.drop { $0 == Self.slash }, as: UTF8.self)
    }

    /// Whether both are equal for the kernel. `==` also accepts other spellings of a character.
    public func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether its last bytes are those of `suffix`.
    public func endsWithBytes(of suffix: String) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}
