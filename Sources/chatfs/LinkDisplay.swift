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

    /// - Throws: where the picture's name is taken: before the link is made, which is shown once.
    init(_ invocation: Invocation) throws(UsageError) {
        background = invocation["background"].flatMap(QRCode.Background.init) ?? .dark
        picture = invocation["png"].map(AbsolutePath.of)
        if let picture, access(picture, F_OK) == 0 {
            throw UsageError("--png takes the name of a new file: \(picture) is there already")
        }
    }

    func show(_ text: String) async throws {
        var failure: SystemError?
        if let code = QREncoder.installed?.code(of: text) {
            if let picture { failure = await Self.write(code, to: picture) }
            if isatty(STDOUT_FILENO) == 1 { for line in code.lines(on: background) { Terminal.print(line) } }
        } else {
            Terminal.note("No code is shown: \(QREncoder.package) is not installed.")
        }
        try Terminal.deliver(text)
        // The text counts more than its picture.
        if let failure { throw failure }
    }

    private static func write(_ code: QRCode, to picture: String) async -> SystemError? {
        await ThreadPool.shared.run {
            do throws(SystemError) {
                try OpenFile(picture, flags: O_WRONLY | O_CREAT | O_EXCL).write(code.png(), at: 0)
                return nil
            } catch {
                return error
            }
        }
    }
}
