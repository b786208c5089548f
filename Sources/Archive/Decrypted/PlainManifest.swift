import Base
import ChatCore

/// What a folder of decrypted files holds (`manifest.json` in it), so that the next run knows what it has.
struct PlainManifest: Codable, Hashable, Sendable {
    /// One file.
    struct Entry: Codable, Hashable, Sendable {
        /// Number of its message in its profile.
        var item: Int64
        /// Folder and name in the folder.
        var path: String
        /// As the chat is called.
        var chat: String
        /// As its sender named it.
        var name: String
        var sender: String
        /// `sent` or `received`.
        var direction: String
        /// Of the message, seconds since 1970; the file's own too.
        var time: Int64
        /// Bytes.
        var size: UInt64
        /// Hexadecimal.
        var sha256: String
    }

    var format = Self.formatName
    var version = Self.version
    /// Whose files.
    var profile: String
    var files: [Entry]

    static let name = "manifest.json"
    static let formatName = "chatfs decrypted files"
    static let version = 1
    static let longest = 512 << 20

    /// Whether this version has written it: every path is a folder and a name.
    var isOurs: Bool {
        format == Self.formatName && version == Self.version
            && files.allSatisfy { entry in
                let names = entry.path.pathNames
                return names.count == 2 && entry.path.hasSameBytes(as: names.joined(separator: "/"))
                    && names.allSatisfy { ![".", ".."].contains($0) }
            }
    }

    init(profile: String) {
        self.profile = profile
        files = []
    }
}
