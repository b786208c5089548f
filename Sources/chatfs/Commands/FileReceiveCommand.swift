import Base
import ChatCore
import CommandLineKit
import Desktop
import Glibc
import Network
import Posix
import XFTP

/// `chatfs file receive`: receives a file from its relays.
enum FileReceiveCommand {
    private static let destination = Option(
        "out", named: "PATH", .file,
        "The destination: a folder, in which the file gets the name that its sender gave it, or the path of "
            + "a new file. Default: the current folder.")
    private static let acknowledge = Option.flag(
        "acknowledge", "Acknowledge the file to the relays, which then delete it for this recipient.")

    static let command = Command(
        "receive", "Receive a file by its description or link.",
        discussion: """
            The file gets its name only after it is complete and verified. Repeating the command continues an \
            interrupted download. The description stays, and the file stays on the relays unless you acknowledge it.

            This command approves the relays in the description or link; they see your address. If a link leads to a \
            description on a relay, that description may name other relays. One of these inside this machine's own \
            network needs --approve RELAY.

            With --profile or --core the core of that profile receives the file, through the mount if the profile is \
            mounted. --out then names the new file, and Ctrl-C leaves no partial file.
            """,
        arguments: [DescriptionArgument.argument],
        options: [destination, acknowledge, InwardRelays.option] + CommonOptions.access,
        examples: [
            Example("chatfs file receive rcv1.xftp", "Receive into the current folder."),
            Example(
                "chatfs file receive - --out film.mp4 < link.txt",
                "Keep the link out of the list of processes."),
        ],
        waitsForStop: true
    ) { invocation in
        let description = try await DescriptionArgument.description(from: invocation)
        if let access = try ProfileAccess(ifNamedBy: invocation) {
            return try await receive(description, access, invocation)
        }
        let target = try await ThreadPool.shared.run { try Target(invocation[destination]) }
        let inward = try InwardRelays(invocation).approving(description)
        let client = CommandTransfer.client(approving: inward)
        let path = try await CommandTransfer.stoppable(
            invocation, advice: "Repeat the command to continue."
        ) {
            let direct = try await FileDownload.followRedirect(description, client: client)
            try inward.require(direct)
            let destination = try await ThreadPool.shared.run { () throws(XFTPError) in
                try PlainFileDestination(folder: target.folder, for: direct, naming: target.name)
            }
            try await receive(direct, client: client, to: destination)
            if invocation[acknowledge] {
                try await FileDeletion.acknowledge(direct, client: client)
                if description.redirect != nil {
                    try await FileDeletion.acknowledge(description, client: client)
                }
            }
            return target.path(of: destination.finalName ?? "")
        }
        client.close()
        Terminal.print(path)
    }

    /// Receives through the core of a profile.
    private static func receive(
        _ description: FileDescription, _ access: ProfileAccess, _ invocation: Invocation
    ) async throws {
        guard let path = invocation[destination], !invocation[acknowledge] else {
            throw UsageError(
                "--profile and --core need --out, the path of a new file, and do not acknowledge")
        }
        guard try InwardRelays(invocation).approved.isEmpty else {
            throw UsageError("with --profile and --core, 'chatfs approve RELAY' approves relays")
        }
        let absolute = try await ThreadPool.shared.run { () throws(PathError) in
            try naming(path) { () throws(SystemError) in try GivenPath.ofNewFile(path) }
        }
        _ = try await StandaloneClient(access: access, invocation: invocation)
            .carryOut(.download(FileLink(description).text, to: absolute), title: "Receiving")
        Terminal.print(path)
    }

    private static func receive(
        _ description: FileDescription, client: XFTPClient, to destination: PlainFileDestination
    ) async throws {
        let progress = ProgressDisplay("Receiving")
        defer { progress.finish() }
        do throws(XFTPError) {
            try await FileDownload.run(description, client: client, to: destination) {
                progress.update(done: $0, total: $1)
            }
        } catch {
            // A download that can never complete is not kept.
            if !error.isTemporary, error.code != .cancelled, error.code != .storage { destination.discard() }
            throw error
        }
    }

    /// The destination: a directory, and a fixed name or the sender's.
    private struct Target: Sendable {
        let folder: String
        private let fixedName: String?

        init(_ path: String?) throws(SystemError) {
            var status = stat()
            let path = path ?? "."
            if stat(path, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFDIR else {
                    throw SystemError(code: EEXIST, operation: "receive into an existing file")
                }
                folder = path
                fixedName = nil
                return
            }
            let name = path.endsWithBytes(of: "/") ? "" : path.lastPathName ?? ""
            guard !name.isEmpty else { throw SystemError(code: ENOENT, operation: "find the folder") }
            folder = path.parentPath
            fixedName = name
        }

        @Sendable func name(_ header: FileHeader, attempt: Int) -> String? {
            if let fixedName { return attempt == 1 ? fixedName : nil }
            guard attempt < 10_000 else { return nil }
            let name = SafeFileName.make(from: header.name) ?? "file"
            return attempt == 1 ? name : SafeFileName.numbered(name, attempt)
        }

        func path(of name: String) -> String {
            switch folder {
            case ".": name
            case "/": "/" + name
            default: folder + (folder.endsWithBytes(of: "/") ? "" : "/") + name
            }
        }
    }
}
