import Base
import ChatCore
import CommandLineKit
import Desktop
import Glibc
import Links
import Posix
import XFTP

/// `chatfs file send`: uploads a file, writes its descriptions and prints its link.
enum FileSendCommand {
    private static let file = Argument("FILE", .file, "The file to send, at most 5 GiB.")
    private static let relays = Option.list(
        "relay", named: "ADDR", .text,
        "An XFTP relay, xftp://FINGERPRINT[:PASSWORD]@HOST[:PORT]. Several relays share the chunks.")
    private static let recipients = Option(
        "recipients", named: "N", .integer(1...1000), default: 1,
        "Number of descriptions. Each recipient has separate IDs and keys.")
    private static let folder = Option(
        "out", named: "DIR", .folder, "Folder for the descriptions; default FILE.xftp.")

    static let command = Command(
        "send", "Upload a file to relays and print its link.",
        discussion: """
            Prints a link and writes descriptions into DIR: rcv1.xftp … rcvN.xftp for the recipients, and \
            snd.xftp.private, which 'file delete' takes. The link of a large file leads to a small description on the \
            relays; 'file delete' deletes it too, with link.xftp.private. Anyone with a description or the link can \
            read the file. Relays keep it for a limited time, usually 48 hours.

            Repeating the command continues an interrupted upload.

            With --profile or --core the core of that profile uploads the file to the profile's relays, through the \
            mount if the profile is mounted. The command prints the link and a number for 'file delete', and the core \
            keeps the descriptions. Ctrl-C then cancels the upload and deletes its chunks.
            """,
        arguments: [file], options: [relays, recipients, folder] + CommonOptions.access,
        examples: [
            Example("chatfs file send film.mp4 --relay xftp://…@relay.example", "Send and print a link."),
            Example("chatfs file send film.mp4 --profile alice", "Use the relays of alice."),
        ],
        waitsForStop: true
    ) { invocation in
        if let access = try ProfileAccess(ifNamedBy: invocation) { return try await send(access, invocation) }
        let relays = try relays(from: invocation)
        let (path, recipients) = (invocation[file], invocation[recipients])
        let name = path.lastPathName ?? path
        let folder = invocation[folder] ?? "\(name).xftp"
        let file = try await ThreadPool.shared.run { () throws(PathError) in
            try naming(path) {
                guard let file = try OpenFile.regular(path) else {
                    throw ChatError(.invalidCommand, "Only a regular file can be sent.")
                }
                return file
            }
        }
        // The link uses a recipient of its own, so that an acknowledgement by another recipient does not delete it.
        let record = try await ThreadPool.shared.run {
            try UploadRecord(folder: folder, source: file, fileName: name, recipients: recipients + 1)
        }
        let client = CommandTransfer.client()
        let link = try await CommandTransfer.stoppable(
            invocation, advice: "Repeat the command within a day to continue."
        ) {
            let progress = ProgressDisplay("Sending")
            defer { progress.finish() }
            let uploaded = try await FileUpload.run(
                PlainFileSource(file), fileName: name, recipients: recipients + 1, relays: relays,
                client: client,
                state: record.state, save: { try record.save($0) },
                progress: { progress.update(done: $0, total: $1) })
            let linked = uploaded.recipients[recipients]
            let redirect =
                linked.chunks.count == 1
                ? nil : try await FileUpload.redirect(to: linked, relays: relays, client: client)
            try await ThreadPool.shared.run {
                for (index, description) in uploaded.recipients.dropLast().enumerated() {
                    try record.write(description.text, to: "rcv\(index + 1).xftp")
                }
                if let redirect { try record.write(redirect.sender.text, to: FileDeleteCommand.linkName) }
                try record.write(uploaded.sender.text, to: FileDeleteCommand.senderName)
                try record.finish()
            }
            return FileLink(redirect?.short ?? linked, data: facts(ofFile: name, size: try file.size()))
        }
        client.close()
        Terminal.note(
            recipients == 1
                ? "\(folder)/rcv1.xftp is for the recipient; keep \(folder)/snd.xftp.private: with it you can delete the upload."
                : "\(folder)/rcv1.xftp … rcv\(recipients).xftp are for the recipients; keep "
                    + "\(folder)/snd.xftp.private: with it you can delete the upload.")
        Terminal.print(link.text)
    }

    /// Sends through the core of a profile.
    private static func send(_ access: ProfileAccess, _ invocation: Invocation) async throws {
        guard invocation[relays].isEmpty, invocation[folder] == nil, invocation[recipients] == 1 else {
            throw UsageError("--relay, --recipients and --out do not go with --profile or --core")
        }
        let path = invocation[file]
        let absolute = try await ThreadPool.shared.run { () throws(PathError) in
            try naming(path) { () throws(SystemError) in try GivenPath.ofFile(path) }
        }
        let state = try await StandaloneClient(access: access, invocation: invocation)
            .carryOut(.upload(absolute), title: "Sending")
        if let file = state.file {
            Terminal.note(
                "Its number is \(file): 'chatfs file delete \(file)' with the same options deletes it.")
        }
        Terminal.print(await link(state.link ?? "", to: absolute))
    }

    /// Returns the facts that a link states beside its description.
    private static func facts(ofFile name: String, size: UInt64) -> String {
        let expires = SystemWallClock().now().advanced(by: FilePolicy.relayRetention)
        return LinkFacts(name: SafeFileName.make(from: name) ?? "file", size: size, expires: expires).text
    }

    /// Adds the missing facts to a core's link; unchanged if they are unknown.
    private static func link(_ text: String, to path: String) async -> String {
        guard var link = try? await FileLink.parse(text), link.data == nil else { return text }
        let size = await ThreadPool.shared.run { () -> UInt64? in
            var status = stat()
            return stat(path, &status) == 0 ? UInt64(status.st_size) : nil
        }
        guard let size else { return text }
        link.data = facts(ofFile: path.lastPathName ?? path, size: size)
        return link.text
    }

    private static func relays(from invocation: Invocation) throws -> [RelayAddress] {
        let texts = invocation[relays]
        guard !texts.isEmpty else {
            throw UsageError("no relay to send to: give one with --relay ('chatfs relay' runs one)")
        }
        return try texts.map { text in
            guard let relay = RelayAddress(text) else {
                // Not repeated, because the text may contain a password.
                throw UsageError("--relay takes xftp://FINGERPRINT[:PASSWORD]@HOST[:PORT]")
            }
            return relay
        }
    }
}
