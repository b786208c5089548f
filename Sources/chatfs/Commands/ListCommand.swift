import Base
import CommandLineKit
import Desktop
import Posix

/// `chatfs ls`: lists files with their states.
enum ListCommand {
    private static let path = Argument(
        optional: "PATH", .file,
        "A file, the folder of a chat, or a mountpoint; not needed if there is only one mount.")
    private static let hash = Option.flag(
        "hash", "Print the SHA-256 of each local file; the first time this reads the whole file.")

    static let command = Command(
        "ls", "List files of a mount with their states.",
        discussion: """
            Prints state, size, time and path of each file. Unlike ls(1) it does not fill the kernel's caches, and it \
            can select by state.
            """,
        section: CommandSection.daily, arguments: [path],
        options: [ProgramConnection.states, ProgramConnection.json, CommonOptions.mount, hash],
        examples: [
            Example("chatfs ls ~/Chats/Alice", "List the files of one chat."),
            Example("chatfs ls --state failed --state unsure", "List failed transfers."),
        ]
    ) { invocation in
        let (path, isForPrograms) = (invocation[path], invocation[ProgramConnection.json])
        let (states, isHashing) = (invocation[ProgramConnection.states].map(\.rawValue), invocation[hash])
        let place = try await ProgramConnection.Place(path, mount: invocation[CommonOptions.mount])
        let client = try await ProgramConnection.client(of: place.mounted)
        try await ThreadPool.shared.run { () throws(any Error) in
            do {
                try list(place, client, states, isForPrograms, isHashing)
            } catch let error as ProgramError {
                throw PathError(path ?? place.mounted.mountpoint, error)
            }
        }
    }

    /// Lists a place. Blocks.
    private static func list(
        _ place: ProgramConnection.Place, _ client: ControlClient, _ states: [String], _ isForPrograms: Bool,
        _ isHashing: Bool
    ) throws {
        let show = { (item: ProgramItem) throws(any Error) in
            guard states.isEmpty || states.contains(item.state) else { return }
            try Terminal.show(
                isForPrograms
                    ? ProgramConnection.json(item) : ProgramConnection.line(item, isHashing: isHashing))
        }
        if place.path == ".chatfs" || place.path == ".chatfs/recovered" {
            throw Refusal(
                "\(place.mounted.mountpoint)/\(place.path): 'chatfs ls' lists folders of chats; ls(1) lists this one."
            )
        }
        if place.path.pathNames.count > 1 {
            return try show(client.item(at: place.path, hash: isHashing))
        }
        try client.items(
            of: place.path.isEmpty ? nil : place.path, states: states.isEmpty ? nil : states, hash: isHashing,
            show)
    }
}
