/// The name of a draft that is a part of a folder on its way: names with `/` between them, the folder's first. A path
/// that ends in `/` is the archive that is being made of the folder. No other draft has a `/` in its name.
///
///     Holiday/beach.jpg          a part
///     Holiday/second day/a.jpg   another one
///     Holiday/                   the archive, until all of it is there; then its name is Holiday.zip
public struct PartPath: Hashable, Sendable {
    /// Names, the folder's first; at least two. The last of an archive is empty.
    public let names: [[UInt8]]

    /// Longest path, in bytes.
    public static let maxLength = 4096
    private static let separator = UInt8(ascii: "/")

    public init(_ names: [[UInt8]]) { self.names = names }

    /// The archive of a folder, while it is made.
    public init(archiveOf folder: [UInt8]) { names = [folder, []] }

    /// Nil for names of other drafts.
    public init?(_ name: [UInt8]) {
        guard Self.matches(name) else { return nil }
        names = name.split(separator: Self.separator, omittingEmptySubsequences: false).map(Array.init)
    }

    public static func matches(_ name: [UInt8]) -> Bool { name.contains(separator) }

    /// The name of the draft.
    public var bytes: [UInt8] { Array(names.joined(separator: [Self.separator])) }

    public var folder: [UInt8] { names[0] }
    public var fileName: [UInt8] { names[names.count - 1] }
    public var isArchive: Bool { names.count == 2 && fileName.isEmpty }

    /// Each name is one that a file can have, and the whole is not too long.
    func require() throws(OutboxError) {
        guard bytes.count <= Self.maxLength else {
            throw OutboxError(.nameTooLong, "A path can have at most \(Self.maxLength) bytes.")
        }
        for name in isArchive ? [folder] : names { try DraftName.requireValid(name) }
    }
}
