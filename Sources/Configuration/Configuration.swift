import Base
import CommandLineKit

/// The configuration: options of every mount, and mounts by name.
///
///     [mount]                      # options of every mount
///     previews = "none"
///
///     [mounts.home]                # `chatfs mount home`
///     mountpoint = "~/Chats"
///     profile = "alice"
///     relay = ["xftp://…@relay.example.org"]
///
///     [mounts.home.chats.Bob]      # rules of a chat, by its folder's name
///     mute = true
///     keep = "all"
///
/// Each key of a mount is the long name of an option of `chatfs mount`. A later place wins: `[mount]`,
/// `[mounts.NAME]`, the command line.
public struct Configuration: Sendable, Equatable {
    /// A mount with a name.
    public struct Mount: Sendable, Equatable {
        public var name: String
        /// Absolute.
        public var mountpoint: String
        /// Values of options by their names. A flag that is true has the value "", one that is false has none.
        public var options: [String: [String]]
        public var chats: [Chat]
        public var line: Int
    }

    /// Rules of a chat. A rule that is nil stays as `chatfs mute` and `chatfs keep` set it.
    public struct Chat: Sendable, Equatable {
        /// The name of the chat's folder, or its reference.
        public var name: String
        public var isMuted: Bool?
        /// Values of `chatfs keep set` by the names of its options.
        public var keep: [String: String]
    }

    /// Options of every mount, also of those without a name.
    public var common: [String: [String]] = [:]
    /// In the order of the file. Names differ.
    public var mounts: [Mount] = []

    public init() {}

    /// The mount with this name, or nil.
    public func mount(named name: String) -> Mount? { mounts.first { $0.name == name } }

    /// The mount at this folder, or nil.
    ///
    /// - Parameter path: absolute.
    public func mount(at path: String) -> Mount? { mounts.first { $0.mountpoint == path } }

    /// The options of a mount: its own, and those of every mount that it does not have. None is without a value.
    public func options(of mount: Mount?) -> [String: [String]] {
        common.merging(mount?.options ?? [:]) { _, own in own }.filter { !$0.value.isEmpty }
    }
}
