import CommandLineKit
import Desktop
import Glibc
import Posix
import QRCodes

/// `chatfs pair`: a link by which one person becomes a contact.
enum PairCommand {
    static let command = Command(
        "pair", "Show a link by which one person becomes your contact, and wait for them.",
        discussion: """
            The link is a secret until it was used: show it, or the code, to nobody else. The other one opens it \
            in SimpleX Chat, or with 'chatfs accept'. The command ends when they are connected; interrupted, \
            the link stays usable, and the contact appears the next time the profile is mounted or used.
            """,
        section: ChatFS.Section.chats,
        options: [
            .value(
                "png", named: "FILE", .file, "Write the code as a picture too; the file is a secret as well."),
            .value(
                "background", named: "COLOUR", .choice(["dark", "light"]), default: "dark",
                "Of the terminal in which the code is shown."),
        ] + ContactMeeting.options,
        examples: [
            Example("chatfs pair --profile alice --server smp://…@relay.example", "The first time."),
            Example("chatfs pair --png code.png", "With a picture of the code."),
        ],
        waitsForStop: true
    ) { invocation in
        let background = invocation["background"].flatMap(QRCode.Background.init) ?? .dark
        let picture = invocation["png"].map(MountSettings.absolute)
        let meeting = try await ContactMeeting(invocation)
        let name = try await invocation.stop.interrupting {
            try await meeting.meet(.invite) { answer in
                try await show(answer.link ?? "", on: background, picture: picture)
            }
        }
        guard let name else {
            Terminal.complain("chatfs: Nobody has connected yet; the link stays usable.")
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
        ContactMeeting.tell(name)
    }

    private static func show(
        _ link: String, on background: QRCode.Background, picture: String?
    ) async throws {
        let code = QREncoder.installed?.code(of: link)
        if let code {
            if let picture {
                try await ThreadPool.shared.run { () throws(SystemError) in
                    try OpenFile(picture, flags: O_WRONLY | O_CREAT | O_EXCL).write(code.png(), at: 0)
                }
            }
            if isatty(STDOUT_FILENO) == 1 { for line in code.lines(on: background) { Terminal.print(line) } }
        } else {
            Terminal.note("No code is shown: \(QREncoder.package) is not installed.")
        }
        try Terminal.deliver(link)
        Terminal.note("Waiting for who uses this link; Ctrl-C ends the waiting.")
    }
}
