import Base
import CommandLineKit
import Posix

/// `chatfs demo`: a complete demonstration on this machine.
enum DemoCommand {
    private static let folder = Argument(
        "DIR", .folder, default: "./chatfs-demo", "A folder to create, or an empty one.")

    static let command = Command(
        "demo", "Show two people exchanging files through folders, on this machine.",
        discussion: """
            Starts a relay and mounts the chats of alice and bob in DIR/alice and DIR/bob, with some files already \
            sent. Nothing leaves this machine. SIGINT (Ctrl-C) or SIGTERM unmounts and removes all its files.
            """,
        section: CommandSection.daily, arguments: [folder],
        waitsForStop: true
    ) { invocation in
        let path = invocation[folder]
        let folder = try await ThreadPool.shared.run { try DemoFolder(path) }
        let shown =
            path.utf8.starts(with: "./".utf8) ? String(decoding: path.utf8.dropFirst(2), as: UTF8.self) : path
        do {
            try await folder.prepare()
            try await Demo(folder: folder, shownPath: shown, stop: invocation.stop).run()
        } catch {
            try await folder.remove()
            throw error
        }
    }
}
