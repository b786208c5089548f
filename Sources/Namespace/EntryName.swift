import ChatCore

/// The name of an entry: the bytes that the kernel passes, compared byte for byte.
public struct EntryName: Hashable, Sendable, CustomStringConvertible {
    /// Longest name in bytes, as on other Linux filesystems. The kernel's limit for FUSE is 1,024, so
    /// the daemon has to hold this one itself.
    public static let maxLength = 255

    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// For people; invalid UTF-8 shows as U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    public var isValidUTF8: Bool { String(validating: bytes, as: UTF8.self) != nil }

    /// What the kernel takes for a name in a folder.
    var canBeShown: Bool {
        (1...Self.maxLength).contains(bytes.count) && !bytes.contains(0) && !bytes.contains(UInt8(ascii: "/"))
            && bytes != Array(".".utf8) && bytes != Array("..".utf8)
    }

    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

    // In one piece: the array's own hashing goes byte by byte, and every lookup pays for it.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension EntryName {
    /// The name an item's file is shown under, before a number tells it from others: made safe, with
    /// an extension where the message says what it is and the name does not; `file-12` when nothing
    /// of the name is left. With the right extension no file manager opens a placeholder to sniff.
    init(of item: ChatItem) {
        let fallback = "file-\(item.id.rawValue)"
        var name = SafeFileName.make(from: item.file?.name ?? "") ?? fallback
        // In the group's folder it would look as if all members had it.
        if item.isForModerators { name = SafeFileName.marked(name, "moderators") }
        guard let missing = Self.missingExtension(name, item.content.kind) else {
            self.init(name)
            return
        }
        let limit = SafeFileName.maxLength - missing.utf8.count - 1
        self.init(SafeFileName.shortened(name, to: limit) + "." + missing)
    }

    static let links = EntryName(NamedChats.linksFolder)

    /// The folder name of a chat.
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
        // Moving pictures travel as either kind, voice in containers of both.
        case .image where kind != .image && kind != .video: "jpg"
        case .video where kind != .image && kind != .video: "mp4"
        case .voice where kind != .audio && kind != .video: "m4a"
        default: nil
        }
    }
}
