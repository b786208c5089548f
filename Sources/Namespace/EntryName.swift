import ChatCore

/// The name of an entry: bytes from the kernel, compared byte for byte.
public struct EntryName: Hashable, Sendable, CustomStringConvertible {
    /// Maximum length in bytes, as on other Linux filesystems. The daemon must enforce it, because the kernel's limit
    /// for FUSE is 1,024.
    public static let maxLength = 255

    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// For display; invalid UTF-8 becomes U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    public var isValidUTF8: Bool { String(validating: bytes, as: UTF8.self) != nil }

    /// True if the kernel accepts the name in a listing.
    var canBeShown: Bool {
        (1...Self.maxLength).contains(bytes.count) && !bytes.contains(0) && !bytes.contains(UInt8(ascii: "/"))
            && bytes != Array(".".utf8) && bytes != Array("..".utf8)
    }

    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

    // Hashes all bytes at once; the array's own hashing goes byte by byte and slows every lookup.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension EntryName {
    /// Creates the name of an item's file before a number makes it unique. Sanitises it, adds the extension of the
    /// message's type if the name has none, and uses a name like `file-12` if nothing is left. With a proper extension,
    /// file managers do not open placeholders to detect the type.
    init(of item: ChatItem) {
        let fallback = "file-\(item.id.rawValue)"
        var name = SafeFileName.make(from: item.file?.name ?? "") ?? fallback
        // Without the mark, the file would appear to be visible to all members.
        if item.isForModerators { name = SafeFileName.marked(name, "moderators") }
        guard let missing = Self.missingExtension(name, item.content.kind) else {
            self.init(name)
            return
        }
        let limit = SafeFileName.maxLength - missing.utf8.count - 1
        self.init(SafeFileName.shortened(name, to: limit) + "." + missing)
    }

    static let links = EntryName(NamedChats.linksFolder)

    /// Creates the folder name of a chat.
    init(of chat: Chat) {
        switch chat.reference {
        case .notes: self.init(NamedChats.notesFolder)
        case .links: self = .links
        case .direct, .group:
            self.init(SafeFileName.make(fromTitle: chat.displayName) ?? Self.fallback(chat.reference))
        }
    }

    private static func fallback(_ chat: ChatReference) -> String {
        switch chat {
        case .direct(let id): "contact-\(id)"
        case .group(let id): "group-\(id)"
        case .notes(let id): "notes-\(id)"
        case .links: "links"
        }
    }

    public func numbered(_ number: Int) -> EntryName { EntryName(SafeFileName.numbered(description, number)) }

    private static func missingExtension(_ name: String, _ content: MessageContent.Kind) -> String? {
        let kind = MediaType(fileName: name).kind
        return switch content {
        // Moving pictures are sent as either kind, voice in containers of both.
        case .image where kind != .image && kind != .video: "jpg"
        case .video where kind != .image && kind != .video: "mp4"
        case .voice where kind != .audio && kind != .video: "m4a"
        default: nil
        }
    }
}
