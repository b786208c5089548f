import ChatCore
import Glibc
import Posix

/// The muted chats: a directory in the profile's with an empty file for each, so that the mount and commands may access
/// it concurrently. All calls block.
public struct MutedChats: Sendable {
    private let profile: OpenFile
    private static let name = "muted"

    /// - Parameter profile: The profile's directory.
    public init(in profile: OpenFile) { self.profile = profile }

    /// - Throws: An error if the directory cannot be read.
    public func all() throws(SystemError) -> Set<ChatReference> {
        guard let folder = try OpenFile.existing(Self.name, flags: O_RDONLY, in: profile) else { return [] }
        return Set(try PrivateFolder.names(in: folder).compactMap { ChatReference($0) })
    }

    /// - Throws: An error if the file cannot be made durably.
    public func mute(_ chat: ChatReference) throws(SystemError) {
        let folder = try PrivateFolder.folder(Self.name, in: profile)
        try OpenFile(chat.description, flags: O_WRONLY | O_CREAT, in: folder).synchronise()
        try folder.synchronise()
    }

    /// Does nothing if the chat is not muted.
    /// - Throws: An error if the file cannot be removed durably.
    public func unmute(_ chat: ChatReference) throws(SystemError) {
        let folder = try PrivateFolder.folder(Self.name, in: profile)
        if unlinkat(folder.descriptor, chat.description, 0) != 0, errno != ENOENT {
            throw SystemError(code: errno, operation: "remove a file")
        }
        try folder.synchronise()
    }
}
