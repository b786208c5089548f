import CommandLineKit
import Configuration
import Fuse
import Posix
import Unlocking

/// `chatfs mount`: shows the chats of a profile as folders.
enum MountCommand {
    static let command = Command.beginningAlone(
        "mount", "Show the chats of a profile as folders.",
        discussion: """
            Prints one line when the folder is ready (none with --background) and runs until 'chatfs unmount', SIGINT \
            (Ctrl-C), SIGTERM or SIGHUP. It then queues files that were copied in, stops downloads and deletes the \
            decrypted cache.

            A file copied into a chat's folder is sent once it has been closed for the quiet time without being opened \
            again.
            """,
        section: CommandSection.daily, arguments: [mountpoint], options: MountOptions.all,
        examples: [
            Example("chatfs mount ~/Chats", "Mount the only profile."),
            Example(
                "chatfs mount ~/Chats --folders archive --save home",
                "Remember the options as the mount home."),
            Example("chatfs mount home", "Use the configuration; see 'chatfs help config'."),
            Example(
                "chatfs mount ~/Chats --profile alice --relay xftp://…@relay.example.org --background",
                "Add this relay for files that alice sends."),
            Example(
                "chatfs mount ~/Chats --core lib:/opt/simplex/libsimplex.so --database ~/.simplex/simplex_v1",
                "Mount the chats of the program simplex-chat."),
        ],
        waitsForStop: true
    ) { invocation in
        try begin(invocation) { try MountSettings.configured(invocation, mountpoint: invocation[mountpoint]) }
    }

    private static let mountpoint = Argument(
        optional: "MOUNTPOINT", .folder,
        "An empty folder, created if it is missing, or the name of a mount of the configuration. Not needed if "
            + "the configuration has only one mount.")

    /// Returns the run that mounts with these settings, for commands of `Command.beginningAlone`.
    static func begin(
        _ invocation: Invocation, settings make: () throws -> MountSettings
    ) throws -> Command.Run {
        let mask = ProcessHardening.apply()
        ProcessHardening.allowManyOpenFiles()
        Allocator.limitArenas()
        var chosen = try make()
        let savedName = invocation.ifTaken(MountOptions.save)
        let saved = savedName.map { SavedMount($0, invocation, at: chosen.mountpoint) }
        try saved?.check()
        chosen.configuredName = savedName ?? chosen.configuredName
        // The owner can always read.
        chosen.entryPermissions = UInt16(0o666 & ~mask) | 0o600
        if invocation[MountOptions.background] { chosen.directory = try chosen.directory.askedBeforehand() }
        let settings = chosen
        // Must come first: the child has only the forking thread.
        let background = invocation[MountOptions.background] ? try Background.start() : nil
        let isConfined = ProcessHardening.confineDaemon()
        return { invocation in
            if !isConfined { Log("mount").notice("process not confined by the kernel") }
            let mount = try await unlocked { try await mounted(settings, invocation.stop) }
            // Only now, so that a failed command can be corrected and repeated.
            if let saved { await save(saved) }
            if let words = await ThreadPool.shared.run({ settings.directory.offerEncryption() }) {
                Terminal.note("chatfs: " + words)
            }
            if let background {
                do throws(SystemError) {
                    let log = try LogDestination.detached(file: mount.logPath)
                    Log.send(to: log)
                    try background.ready()
                    // Redirects the runtime's crash messages.
                    if case .file(let file) = log { try file.takeStandardError() }
                } catch {
                    // The parent learns of the failure or is gone; the mount is removed.
                    invocation.stop.request()
                    await mount.serve(until: invocation.stop)
                    throw error
                }
            } else {
                Terminal.print("\(mount.profileName) is mounted at \(mount.mountpoint)")
            }
            guard !invocation[MountOptions.background], let service = ServiceSocket.ofEnvironment() else {
                return await mount.serve(until: invocation.stop)
            }
            let report = ServiceReport(service)
            let reporting = report.begin { await mount.status() }
            await mount.serve(until: invocation.stop, whenLeaving: report.leave)
            reporting.cancel()
        }
    }

    /// A failure is only reported: the mount exists.
    private static func save(_ mount: SavedMount) async {
        do throws(ConfigurationError) {
            try await ThreadPool.shared.run { () throws(ConfigurationError) in try mount.add() }
        } catch {
            Terminal.complain("chatfs: \(error.sentence)")
        }
    }

    /// Mounts; waiting for a phone ends with a stop request.
    private static func mounted(
        _ settings: MountSettings, _ stop: StopRequest
    ) async throws -> MountedProfile {
        guard settings.coreChoice.official?.isPhone == true else {
            return try await MountedProfile.mount(settings)
        }
        let mount = try await stop.interrupting(grace: .seconds(5)) {
            try await MountedProfile.mount(settings)
        }
        guard let mount else { throw ExitCode(128 + (await stop.wait())) }
        return mount
    }

    /// Mounts. If a systemd unit starts the mount at login, prompts once for the keyring.
    private static func unlocked(
        _ mount: () async throws -> MountedProfile
    ) async throws -> MountedProfile {
        do {
            return try await mount()
        } catch let error as UnlockingError where error.needsSomebody {
            throw CodedEnding(error, .locked)
        }
    }
}
