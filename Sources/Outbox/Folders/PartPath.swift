/// The draft name of a part of a pasted folder: path components joined by `/`, the folder first. A path with
/// a final `/` is the archive of the folder. Other drafts have no `/` in their names.
///
///     Holiday/beach.jpg          a part
///     Holiday/second day/a.jpg   another part
///     Holiday/                   the archive; when complete, it becomes Holiday.zip
public struct PartPath: Hashable, Sendable {
    /// At least two components, the folder first. The last one of an archive is empty.
    public let names: [[UInt8]]

    /// Maximum length in bytes.
    public static let maxLength = 4096
    private static let separator = UInt8(ascii: "/")

    public init(_ names: [[UInt8]]) { self.names = names }

    /// The archive of a folder while it is created.
    public init(archiveOf folder: [UInt8]) { names = [folder, []] }

    /// Returns nil for names of other drafts.
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

    /// Throws unless each component is a valid name and the path is not too long.
    func require() throws(OutboxError) {
        guard bytes.count <= Self.maxLength else {
            throw OutboxError(.nameTooLong, "A path can have at most \(Self.maxLength) bytes.")
        }
        for name in isArchive ? [folder] : names { try DraftName.requireValid(name) }
    }
}
