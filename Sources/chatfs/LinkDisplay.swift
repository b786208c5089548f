import CommandLineKit
import Glibc
import Posix
import QRCodes

/// How a command shows a link, or the security code of a contact: its text, and a QR code for telephones.
struct LinkDisplay: Sendable {
    private let background: QRCode.Background
    private let picture: String?

    static let options: [Option] = [
        .value(
            "png", named: "FILE", .file,
            "Write the code as a picture too; that of a link is as secret as the link."),
        .value(
            "background", named: "COLOUR", .choice(["dark", "light"]), default: "dark",
            "Of the terminal in which the code is shown."),
    ]

    init(_ invocation: Invocation) {
        background = invocation["background"].flatMap(QRCode.Background.init) ?? .dark
        picture = invocation["png"].map(AbsolutePath.of)
    }

    func show(_ text: String) async throws {
        if let code = QREncoder.installed?.code(of: text) {
            if let picture {
                try await ThreadPool.shared.run { () throws(SystemError) in
                    try OpenFile(picture, flags: O_WRONLY | O_CREAT | O_EXCL).write(code.png(), at: 0)
                }
            }
            if isatty(STDOUT_FILENO) == 1 { for line in code.lines(on: background) { Terminal.print(line) } }
        } else {
            Terminal.note("No code is shown: \(QREncoder.package) is not installed.")
        }
        try Terminal.deliver(text)
    }
}
