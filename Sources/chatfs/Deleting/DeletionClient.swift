import Base
import ChatCore
import Desktop
import Posix

/// The process that carries out `chatfs delete`: the daemon of a mount, or this process with a core of its own.
struct DeletionClient: Sendable {
    /// Equal for the same profile within one command.
    let identity: String
    /// - Throws: The reason for a refusal or a failed connection.
    let ask: @Sendable (DeleteRequest) async throws -> DeleteAnswer

    /// The error for an invalid reply.
    static let malformed = DesktopError(
        .malformed, "The mount sent an invalid answer; it may run another version of ChatFS: mount again.")

    /// Uses the daemon of a mount.
    init(_ mounted: Mounted) {
        identity = mounted.mountpoint
        ask = { request in
            let daemon = try await CacheClient.daemon(of: mounted)
            return try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.ask(request) }
        }
    }

    /// Uses a core of this process.
    private init(_ opened: MountedCore) {
        let (core, folders) = (opened.core, opened.folders)
        let deletion = ItemDeletion(
            core: core,
            chats: { () async throws(ChatError) in try await folders.chats(of: core) },
            entry: { _ in nil },
            deleteTogether: { (items, mode) in try await core.delete(items, mode: mode) })
        identity = opened.folder
        ask = { request in
            do {
                return try await deletion.answer(request)
            } catch {
                throw DesktopError(.refused, sentence(of: error), cause: error)
            }
        }
    }

    /// Uses the daemon that has a profile. Connects for each request, so that no connection waits for the user.
    private init(profileFolder: String) {
        identity = profileFolder
        ask = { request in
            try await ThreadPool.shared.run { () throws(DesktopError) in
                guard let daemon = try ControlClient.connect(profileFolder: profileFolder) else {
                    throw DesktopError(.noAnswer, "The profile is being unmounted: try again.")
                }
                return try daemon.ask(request)
            }
        }
    }

    /// Runs `body` once with the process that has the profile. A core of this process stays open meanwhile.
    static func use(
        _ access: ProfileAccess, _ body: @Sendable (DeletionClient) async throws -> Void
    ) async throws {
        let folder: String? = try await access.use { daemon in
            daemon.profileFolder
        } opened: { opened in
            try await body(DeletionClient(opened))
            return nil
        }
        if let folder { try await body(DeletionClient(profileFolder: folder)) }
    }
}
