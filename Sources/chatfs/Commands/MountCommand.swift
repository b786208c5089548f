import CommandLineKit
import FileSystem
import Fuse
import Posix

/// `chatfs mount`: the chats of a profile as folders.
enum MountCommand {
    static let command = Command.beginningAlone(
        "mount", "Show the chats of a profile as folders.",
        discussion: """
            Prints one line when the folder is ready and stays until 'chatfs unmount', SIGINT (Ctrl-C), \
            SIGTERM or SIGHUP: what was copied in is queued, downloads stop, and the decrypted cache is \
            removed.

            A file copied into a chat's folder is sent when it was closed and nobody opened it again for \
            the quiet time.
            """,
        section: ChatFS.Section.daily,
        arguments: [
            Argument("MOUNTPOINT", .folder, "An empty folder; made when it is missing.")
        ],
        options: [
            CommonOptions.profile, CommonOptions.data,
            .value(
                "cache-dir", named: "DIR", .folder,
                "Where decrypted blocks lie, sealed; else ${XDG_CACHE_HOME:-~/.cache}/chatfs."),
            CommonOptions.relay,
            .value(
                "quiet-time", named: "TIME", .duration, default: "1s",
                "How long a closed file must rest before it is sent."),
            .value(
                "delete", named: "WHAT", .choice(DeletionPolicy.allCases.map(\.rawValue)),
                default: DeletionPolicy.refused.rawValue,
                "What rm does to a message: refused, for this user, for all (own, last 24 hours)."),
            .flag("background", "Come back when the folder is ready."),
        ],
        examples: [
            Example("chatfs mount ~/Chats", "The only profile there is."),
            Example(
                "chatfs mount ~/Chats --profile alice --relay xftp://…@relay.example.org --background",
                "Keep this relay for files that alice sends."),
        ],
        waitsForStop: true
    ) { invocation in
        ProcessHardening.apply()
        let settings = try MountSettings(invocation)
        // Nothing but this may come before: the child has only the thread that forked.
        let background = invocation.has("background") ? try Background.start() : nil
        return { invocation in
            let mount = try await MountedProfile.mount(settings)
            if let background {
                try background.ready()
            } else {
                Terminal.print("\(mount.profileName) is mounted at \(mount.mountpoint)")
            }
            await mount.serve(until: invocation.stop)
        }
    }
}
