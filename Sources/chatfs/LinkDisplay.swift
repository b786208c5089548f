import CommandLineKit
import Glibc
import Posix
import QRCodes

/// Shows a link or a security code as text, and as QR code for phones.
struct LinkDisplay: Sendable {
    private let background: QRCode.Background
    private let picture: String?

    private static let file = Option(
        "png", named: "FILE", .file, "Also write the code as a picture, which is as secret as the link.")
    private static let theme = Option(
        "theme", named: "THEME", .choice(QRCode.Background.self), default: .dark,
        "Theme of the terminal: dark (light text on dark) or light.")
    static let options: [any OptionDeclaration] = [file, theme]

    /// For commands without these options.
    init() { (background, picture) = (.dark, nil) }

    /// - Throws: `UsageError` if the picture exists; checked before the link is created, because a link is shown once.
    init(_ invocation: Invocation) throws(UsageError) {
        background = invocation[Self.theme]
        picture = invocation[Self.file].map(AbsolutePath.of)
        if let picture, access(picture, F_OK) == 0 {
            throw UsageError("--png takes the name of a new file: \(picture) already exists")
        }
    }

    /// Prints the text, writes the picture and, on a terminal, prints the code if it fits the screen.
    /// - Parameter isLater: True for a link that replaces the previous one and its picture.
    func show(_ text: String, isLater: Bool = false) async throws {
        let code = QREncoder.installed?.code(of: text)
        var failure: SystemError?
        if let code, let picture { failure = await Self.write(code, to: picture, isLater) }
        try Terminal.deliver(text)
        // The text must be printed even if the picture fails.
        if let failure { throw failure }
        show(code)
    }

    private func show(_ code: QRCode?) {
        guard let code else {
            return Terminal.note("No code is shown: \(QREncoder.package) is not installed.")
        }
        guard isatty(STDOUT_FILENO) == 1 else { return }
        let lines = Self.styles.lazy.compactMap { style in
            code.lines(
                on: background, style: style, columns: Terminal.width(),
                rows: Terminal.height() - Self.freeRows)
        }.first
        if let lines {
            for line in lines { Terminal.print(line) }
        } else if picture == nil {
            let least = code.leastSize(of: Self.styles.last ?? .ascii)
            Terminal.note(
                "The code is too large for this terminal: enlarge it to \(least.columns) columns and "
                    + "\(least.rows + Self.freeRows) lines, or write a picture with --png FILE.")
        }
    }

    /// Lines below the code, for the waiting message and the cursor.
    private static let freeRows = 2

    /// Styles that the terminal can draw, most reliable to scan first.
    private static var styles: [QRCode.Style] {
        guard Terminal.drawsBlocks(STDOUT_FILENO) else { return [.ascii] }
        // The kernel's console has a font of 512 characters, without sextants.
        let isConsole = getenv("TERM").map { String(cString: $0) } == "linux"
        if isConsole { return [.halfBlocks] }
        return drawsOctants { getenv($0).map { String(cString: $0) } }
            ? [.halfBlocks, .sextants, .octants] : [.halfBlocks, .sextants]
    }

    /// Whether the terminal draws octants itself; fonts hardly have them.
    static func drawsOctants(_ variable: (String) -> String?) -> Bool {
        if let version = variable("VTE_VERSION").flatMap({ Int($0) }), version >= 7800 { return true }
        return ["xterm-kitty", "xterm-ghostty", "foot", "foot-extra"].contains(variable("TERM"))
    }

    private static func write(_ code: QRCode, to picture: String, _ isLater: Bool) async -> SystemError? {
        await ThreadPool.shared.run {
            do throws(SystemError) {
                let way = isLater ? O_TRUNC | O_NOFOLLOW : O_EXCL
                try OpenFile(picture, flags: O_WRONLY | O_CREAT | way).write(code.png(), at: 0)
                return nil
            } catch {
                return error
            }
        }
    }
}
