import CommandLineKit
import Glibc
import Posix
import QRCodes

/// How a command shows a link: its text, and a code for telephones.
struct LinkDisplay: Sendable {
    private let background: QRCode.Background
    private let picture: String?

    static let options: [Option] = [
        .value("png", named: "FILE", .file, "Write the code as a picture too; the file is a secret as well."),
        .value(
            "background", named: "COLOUR", .choice(["dark", "light"]), default: "dark",
            "Of the terminal in which the code is shown."),
    ]

    init(_ invocation: Invocation) {
        background = invocation["background"].flatMap(QRCode.Background.init) ?? .dark
        picture = invocation["png"].map(MountSettings.absolute)
    }

    func show(_ link: String) async throws {
        if let code = QREncoder.installed?.code(of: link) {
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
    }
}
