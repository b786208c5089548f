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
            Prints one line when the folder is ready (with --background nothing) and stays until 'chatfs unmount', SIGINT (Ctrl-C), \
            SIGTERM or SIGHUP: what was copied in is queued, downloads stop, and the decrypted cache is \
            removed.

            A file copied into a chat's folder is sent when it was closed and nobody opened it again for \
            the quiet time.
            """,
        section: CommandSection.daily,
        arguments: [
            Argument(
                "MOUNTPOINT", .folder, count: .optional,
                "An empty folder; made when it is missing. Or the name of a mount of the configuration, which is not needed "
                    + "when it has only one.")
        ],
        options: [
            CommonOptions.profile,
            .value(
                "cache-dir", named: "DIR", .folder,
                "Where decrypted blocks lie; else ${XDG_CACHE_HOME:-~/.cache}/chatfs."),
            .value(
                "cache", named: "MODE", .choice(CacheMode.allCases.map(\.rawValue)),
                default: CacheMode.sealed.rawValue,
                "How they lie there: sealed with a key that is only in memory, plain, or only in memory."),
            .value(
                "cache-size", named: "LIMIT", .byteCount,
                "Most bytes of them; what was used longest ago goes first, never what is open or pinned. Default: no limit, "
                    + "and 64 MiB with --cache memory."),
            .value(
                "cache-min-free", named: "BYTES", .byteCount, default: "256mb",
                "What they leave free on their disk; what then does not fit stays in memory for a while."),
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
                "With --core: fetch chunks through this SOCKS5 proxy, as the core itself may do."),
            .value(
                "mark-read", named: "WHEN", .choice(MountSettings.MarkRead.allCases.map(\.rawValue)),
                "With --core: on-open marks the message of a file that is opened as read, which starts the time of a "
                    + "disappearing one; or never. Default: on-open, with a phone never."),
            .value(
                "relay-policy", named: "POLICY", .choice(RelayApprovalPolicy.allCases.map(\.rawValue)),
                "For files on relays that you did not configure: ask (not received), always, never. Default: as it was "
                    + "set last, at first ask."),
            .value(
                "quiet-time", named: "TIME", .duration, default: "1s",
                "How long a closed file must rest before it is sent."),
            .value(
                "delete", named: "WHAT", .choice(DeletionPolicy.allCases.map(\.rawValue)),
                default: DeletionPolicy.refused.rawValue,
                "What rm does to a message: refused, for this user, for all (own, last 24 hours)."),
            MessagePreparation.option,
            .value(
                "previews", named: "WHERE", .choice(PreviewMode.allCases.map(\.rawValue)),
                default: PreviewMode.message.rawValue,
                "Where file managers get their pictures from of files that are not here: from the message, by fetching "
                    + "the file, or from nowhere."),
            .value(
                "folders", named: "WHAT", .choice(FolderPolicy.allCases.map(\.rawValue)),
                default: FolderPolicy.archive.rawValue,
                "What becomes of a folder that is copied into a chat: refused before its first file, or sent as one "
                    + "archive (a ZIP) when nothing changed in it for five times the quiet time."),
            .value(
                "refuse", named: "PROGRAM", .text, repeats: true,
                "A program that fetches nothing, beside thumbnailers, indexers, scanners and backup programs: a name, "
                    + "a path, or NAME:WORD of its command line; * stands for any characters."),
            .value(
                "allow", named: "PROGRAM", .text, repeats: true,
                "A program that may fetch all the same. Of several that fit the longest decides."),
            .value(
                "resumes", named: "PROGRAM", .text, repeats: true,
                "A program that may go on with a file that it has closed, beside wget, curl, rsync and others: what it "
                    + "writes is sent when it has ended, or was silent for 900 times the quiet time."),
            .value(
                "notifications", named: "WHEN", .choice(NotificationMode.allCases.map(\.rawValue)),
                default: NotificationMode.instant.rawValue,
                "When desktop notifications show what arrived, waits for you or could not be sent: at once, every 20 minutes, "
                    + "or never."),
            .value(
                "notification-previews", named: "WHAT", .choice(NotificationPreview.allCases.map(\.rawValue)),
                default: NotificationPreview.message.rawValue,
                "What it says: names of files and what was written with them, only the chat, or neither."),
            .value(
                "silence", named: "KIND", .choice(NotificationSubject.allCases.map(\.rawValue)),
                repeats: true,
                "A kind of notification that is not shown; what arrived is counted all the same."),
            .value(
                "save", named: "NAME", .text,
                "Add this mount and the options given here to the configuration; 'chatfs mount NAME' repeats them."
            ),
            .value(
                "metrics", named: "FILE", .file,
                "Write counters and latencies to this file every 10 seconds, in the OpenMetrics text form."),
            .flag("background", "Return when the folder is ready, and stay mounted."),
            CommonOptions.noEncryption,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs mount ~/Chats", "The only profile there is."),
            Example(
                "chatfs mount ~/Chats --folders archive --save home",
                "Remember the options as the mount home."),
            Example("chatfs mount home", "As the configuration says; see 'chatfs help config'."),
            Example(
                "chatfs mount ~/Chats --profile alice --relay xftp://…@relay.example.org --background",
                "Keep this relay for files that alice sends."),
            Example(
                "chatfs mount ~/Chats --core lib:/opt/simplex/libsimplex.so --database ~/.simplex/simplex_v1",
                "The chats of the program simplex-chat."),
        ],
        waitsForStop: true
    ) { invocation in
        try begin(invocation) { try MountSettings.configured(invocation) }
    }

    /// The mount of these settings, for commands that begin alone.
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
            if !isConfined { Log("mount").notice("The kernel cannot confine this process.") }
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

    /// A phone may be waited for until somebody has enough of it.
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
