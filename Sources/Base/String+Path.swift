// The kernel sees bytes, Swift sees characters: in "/a/\u{301}b" the second slash and the accent behind it are one
// character, which is no slash, and "é" equals itself spelled as two scalars, which is another name in a folder. So
// paths are taken apart and compared here, byte by byte.
extension String {
    private static let slash = UInt8(ascii: "/")

    /// Whether a path begins at the root.
    public var isAbsolutePath: Bool { utf8.first == Self.slash }

    /// The names between the slashes of a path, the outermost first. Empty ones are left out, `.` and `..` are not.
    public var pathNames: [String] {
        utf8.split(separator: Self.slash).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The last of `pathNames`; nil where there is none.
    public var lastPathName: String? {
        guard let last = utf8.lastIndex(where: { $0 != Self.slash }) else { return nil }
        let start = utf8[..<last].lastIndex(of: Self.slash).map { utf8.index(after: $0) } ?? utf8.startIndex
        return String(decoding: utf8[start...last], as: UTF8.self)
    }

    /// What stands before the last slash: the folder of a path that ends in a name. `/` for what lies in the root, `.`
    /// where there is no slash. Nothing is resolved.
    public var parentPath: String {
        guard let last = utf8.lastIndex(of: Self.slash) else { return "." }
        return last == utf8.startIndex ? "/" : String(decoding: utf8[..<last], as: UTF8.self)
    }

    /// Where a path lies in a folder, without a slash in front: empty for the folder itself, nil for what lies
    /// elsewhere. Both are absolute, or both begin at the same place; nothing is resolved. Slashes at the end of
    /// `folder` do not matter.
    public func path(below folder: String) -> String? {
        let names = folder.utf8
        let end = names.lastIndex { $0 != Self.slash }.map { names.index(after: $0) } ?? names.startIndex
        guard utf8.starts(with: names[..<end]) else { return nil }
        let rest = utf8.dropFirst(names.distance(from: names.startIndex, to: end))
        guard rest.first == Self.slash || rest.isEmpty else { return nil }
        return String(decoding: rest.drop { $0 == Self.slash }, as: UTF8.self)
    }

    /// Whether two paths or names are the same to the kernel. `==` takes other spellings of a character for it.
    public func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether its last bytes are those of `suffix`.
    public func endsWithBytes(of suffix: String) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}
