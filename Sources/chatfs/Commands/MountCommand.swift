import CommandLineKit
import EmbeddedCore
import FileSystem
import Fuse
import Hydration
import Notifications
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
        section: CommandSection.daily,
        arguments: [
            Argument(
                "MOUNTPOINT", .folder, count: .optional,
                "An empty folder, created if it is missing, or the name of a mount of the configuration. Not needed if "
                    + "the configuration has only one mount.")
        ],
        options: [
            CommonOptions.profile,
            .value(
                "cache-dir", named: "DIR", .folder,
                "Folder for decrypted blocks; default ${XDG_CACHE_HOME:-~/.cache}/chatfs."),
            .value(
                "cache", named: "MODE", .choice(CacheMode.allCases.map(\.rawValue)),
                default: CacheMode.sealed.rawValue,
                "How to store them: sealed with a key that exists only in memory, plain, or only in memory."),
            .value(
                "cache-size", named: "LIMIT", .byteCount,
                "Maximum size of the cache. The least recently used files are evicted first, open and pinned files never. "
                    + "Default: no limit, and 64 MiB with --cache memory."),
            .value(
                "cache-min-free", named: "BYTES", .byteCount, default: "256mb",
                "Free space to leave on the disk of the cache; blocks that do not fit stay in memory for a short time."
            ),
            .flag(
                "no-finish",
                "Do not complete files that were only partly read. By default, reading more than the first chunk "
                    + "downloads the rest."),
            CommonOptions.relay,
            CommonOptions.core, CommonOptions.database, CommonOptions.filesFolder, CommonOptions.passphrase,
            PhoneOptions.listen, PhoneOptions.host, PhoneOptions.versions, PhoneOptions.policy,
            PhoneOptions.receiveLimit,
            .value(
                "socks-proxy", named: "HOST:PORT", .text,
                "With --core: fetch chunks through this SOCKS5 proxy."),
            .value(
                "mark-read", named: "WHEN", .choice(MountSettings.MarkRead.allCases.map(\.rawValue)),
                "With --core: on-open marks the message of an opened file as read, which starts the timer of a "
                    + "disappearing message; or never. Default: on-open, with a phone never."),
            .value(
                "relay-policy", named: "POLICY", .choice(RelayApprovalPolicy.allCases.map(\.rawValue)),
                "For files on relays that you did not configure: ask (not received), always, never. Default: the last "
                    + "setting, initially ask."),
            .value(
                "quiet-time", named: "TIME", .duration, default: "1s",
                "Delay after a file is closed before it is sent."),
            .value(
                "delete", named: "WHAT", .choice(DeletionPolicy.allCases.map(\.rawValue)),
                default: DeletionPolicy.refused.rawValue,
                "Effect of rm on a message: refused, for this user, for all (own, last 24 hours)."),
            MessagePreparation.option,
            .value(
                "previews", named: "WHERE", .choice(PreviewMode.allCases.map(\.rawValue)),
                default: PreviewMode.message.rawValue,
                "Source of file managers' pictures of files that are not local: the message, the downloaded file, or none."
            ),
            .value(
                "folders", named: "WHAT", .choice(FolderPolicy.allCases.map(\.rawValue)),
                default: FolderPolicy.archive.rawValue,
                "How to treat a folder that is copied into a chat: refuse it before its first file, or send it as one "
                    + "archive (a ZIP) after five times the quiet time without a change in it."),
            .value(
                "refuse", named: "PROGRAM", .text, repeats: true,
                "A program that may not start downloads, beside thumbnailers, indexers, scanners and backup programs: a "
                    + "name, a path, or NAME:WORD of its command line; * stands for any characters."),
            .value(
                "allow", named: "PROGRAM", .text, repeats: true,
                "A program that may start downloads all the same. The longest of several matching patterns decides."
            ),
            .value(
                "resumes", named: "PROGRAM", .text, repeats: true,
                "A program that may reopen and continue a file that it has closed, beside wget, curl, rsync and others: "
                    + "the file is sent after the program has ended, or after 900 times the quiet time without a write."
            ),
            .value(
                "notifications", named: "WHEN", .choice(NotificationMode.allCases.map(\.rawValue)),
                default: NotificationMode.instant.rawValue,
                "When to notify of arrivals, pending actions and failed files: at once, every 20 minutes, or never."
            ),
            .value(
                "notification-previews", named: "WHAT", .choice(NotificationPreview.allCases.map(\.rawValue)),
                default: NotificationPreview.message.rawValue,
                "Content of notifications: names of files and their captions, only the chat, or neither."),
            .value(
                "silence", named: "KIND", .choice(NotificationSubject.allCases.map(\.rawValue)),
                repeats: true,
                "A kind of notification to hide; arrivals still count as unread."),
            .value(
                "save", named: "NAME", .text,
                "Add this mount and the options given here to the configuration; 'chatfs mount NAME' repeats them."
            ),
            .value(
                "metrics", named: "FILE", .file,
                "Write counters and latencies to this file every 10 seconds, in OpenMetrics text format."),
            .flag("background", "Return when the folder is ready, and keep it mounted."),
            CommonOptions.noEncryption,
        ] + CommonOptions.directory,
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
        try begin(invocation) { try MountSettings.configured(invocation) }
    }

    /// Returns the run that mounts with these settings, for commands of `Command.beginningAlone`.
    static func begin(
        _ invocation: Invocation, settings make: () throws -> MountSettings
    ) throws -> Command.Run {
        let mask = ProcessHardening.apply()
        ProcessHardening.allowManyOpenFiles()
        Allocator.limitArenas()
        var chosen = try make()
        if let name = invocation.value(of: "save") {
            try SavedMount(name, invocation, at: chosen.mountpoint).add()
            chosen.configuredName = name
        }
        // The owner can always read.
        chosen.entryPermissions = UInt16(0o666 & ~mask) | 0o600
        if invocation.has("background") { chosen.directory = try chosen.directory.askedBeforehand() }
        let settings = chosen
        // Must come first: the child has only the forking thread.
        let background = invocation.has("background") ? try Background.start() : nil
        let isConfined = ProcessHardening.confineDaemon()
        return { invocation in
            if !isConfined { Log("mount").notice("process not confined by the kernel") }
            let mount = try await unlocked { try await mounted(settings, invocation.stop) }
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
            guard !invocation.has("background"), let service = ServiceSocket.ofEnvironment() else {
                return await mount.serve(until: invocation.stop)
            }
            let report = ServiceReport(service)
            let reporting = report.begin { await mount.status() }
            await mount.serve(until: invocation.stop, whenLeaving: report.leave)
            reporting.cancel()
        }
    }

    /// Mounts; waiting for a phone ends with a stop request.
    private static func mounted(
        _ settings: MountSettings, _ stop: StopRequest
    ) async throws -> MountedProfile {
        guard settings.official?.isPhone == true else { return try await MountedProfile.mount(settings) }
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
