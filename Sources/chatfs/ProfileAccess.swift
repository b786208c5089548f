import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Posix

/// Access of a command to a profile's chats: through the daemon of its mount, else through a core of its own.
struct ProfileAccess: Sendable {
    let settings: CoreSettings

    /// Returns nil without any of `CommonOptions.access`.
    init?(ifNamedBy invocation: Invocation) throws {
        guard CommonOptions.access.contains(where: invocation.isGiven) else { return nil }
        try self.init(invocation)
    }

    /// Reads `CommonOptions.access`.
    init(_ invocation: Invocation) throws {
        let core = try CoreChoice(invocation)
        settings = CoreSettings(
            profile: invocation[CommonOptions.profile], directory: try DirectoryAccess(invocation), core: core
        )
    }

    /// Like `use(daemon:opened:)`, for closures that need only the core.
    func use<Result: Sendable>(
        daemon: @Sendable (ControlClient) async throws -> Result,
        core: @Sendable (any ChatCore) async throws -> Result
    ) async throws -> Result {
        try await use(daemon: daemon, opened: { try await core($0.core) })
    }

    /// Runs one of the closures. Waits for a mount that is starting or ending, which has the profile but does not
    /// listen.
    func use<Result: Sendable>(
        daemon: @Sendable (ControlClient) async throws -> Result,
        opened body: @Sendable (MountedCore) async throws -> Result
    ) async throws -> Result {
        let end = ContinuousClock.now + .seconds(5)
        while true {
            if let client = try await connect() { return try await daemon(client) }
            try settings.core.official?.checkFilesFolder()
            let opened: MountedCore
            do {
                opened = try await MountedCore.open(settings)
            } catch let error as ChatError
                where error.code == .profileInUse && ContinuousClock.now < end && settings.core.isEmbedded
            {
                try await Task.sleep(for: .milliseconds(100))
                continue
            }
            return try await concluding(with: opened.shutDown) { try await body(opened) }
        }
    }

    private func connect() async throws -> ControlClient? {
        let settings = settings
        return try await ThreadPool.shared.run { () throws(any Error) in
            switch settings.core {
            case .official(let choice):
                return try ControlClient.connect(coreFolder: choice.folder(dataPath: settings.dataPath))
            case .embedded:
                let directory = try settings.directory.open()
                let profile = try directory.profile(named: settings.profile)
                return try ControlClient.connect(profileFolder: directory.folders(of: profile).own)
            }
        }
    }
}
