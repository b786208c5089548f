import Base
import ChatCore

/// The content of a folder of decrypted files (`manifest.json`), for the next run.
struct PlainManifest: Codable, Hashable, Sendable {
    /// One file.
    struct Entry: Codable, Hashable, Sendable {
        /// The number of its message in the profile.
        var item: Int64
        /// The folder name and file name.
        var path: String
        /// The title of the chat.
        var chat: String
        /// The sender's file name.
        var name: String
        var sender: String
        /// `sent` or `received`.
        var direction: String
        /// The time of the message and of the file, in seconds since 1970.
        var time: Int64
        /// In bytes.
        var size: UInt64
        /// Hexadecimal.
        var sha256: String

        static func direction(of item: ChatItem) -> String {
            item.direction == .sent ? "sent" : "received"
        }

        /// Whether it is of this message. Its number alone may be that of another database's message.
        func isOf(_ message: ChatItem, _ file: ChatFile) -> Bool {
            item == message.id.rawValue && size == file.size && time == message.time.seconds
                && direction == Self.direction(of: message) && name.hasSameBytes(as: file.name)
        }

        /// Whether the path consists of a folder and a name.
        var isOurs: Bool {
            let names = path.pathNames
            return names.count == 2 && path.hasSameBytes(as: names.joined(separator: "/"))
                && names.allSatisfy { ![".", ".."].contains($0) }
        }
    }

    var format = Self.formatName
    var version = Self.version
    /// The display name of the profile.
    var profile: String
    var files: [Entry]

    static let name = "manifest.json"
    static let formatName = "chatfs decrypted files"
    static let version = 1
    static let longest = 512 << 20

    /// Whether this version wrote it.
    var isOurs: Bool {
        format == Self.formatName && version == Self.version && files.allSatisfy(\.isOurs)
    }

    init(profile: String) {
        self.profile = profile
        files = []
    }
}
