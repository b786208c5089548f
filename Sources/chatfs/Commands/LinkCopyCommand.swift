import Base
import CommandLineKit
import Desktop
import Glibc
import Posix

/// `chatfs link copy`: prints the link of a file or copies it to the clipboard.
enum LinkCopyCommand {
    private static let clipboard = Option.flag(
        "clipboard", "Copy the link to the clipboard instead of printing it.")

    static let command = Command(
        "copy", "Print the link of a file in the folder Links, or copy it to the clipboard.",
        discussion: """
            Anyone with the link can get the file. --clipboard runs wl-copy, xclip or xsel, depending on the session, \
            and passes the link through its standard input, so that no list of processes shows it.
            """,
        arguments: [LinkClient.entry], options: [clipboard] + CommonOptions.access,
        examples: [
            Example("chatfs link copy ~/Chats/Links/film.mp4 --clipboard", "Copy the link for pasting.")
        ]
    ) { invocation in
        let link = try await link(of: invocation[LinkClient.entry], invocation)
        if invocation[clipboard] { try await Clipboard.copy(link) } else { Terminal.print(link) }
    }

    private static func link(of entry: String, _ invocation: Invocation) async throws -> String {
        let missing = Refusal("\(entry): This file has no link: its upload is not finished or was cancelled.")
        if entry.utf8.contains(UInt8(ascii: "/")) {
            let link = try await ThreadPool.shared.run { () throws(PathError) in
                try naming(entry) { () throws(SystemError) in
                    try requireLinks(entry)
                    return try ExtendedAttribute.text("user.chatfs.link", of: entry)
                }
            }
            guard let link else { throw missing }
            return link
        }
        let found = try await LinkClient.carryOut(LinkRequest(.find, name: entry), invocation)
        guard let link = found.first?.link else { throw missing }
        return link
    }

    /// - Throws: ENODATA if the path is no file of a mount, EPERM for a file of another folder.
    static func requireLinks(_ path: String) throws(SystemError) {
        let parts = try SymbolicLink.resolved(path, to: "find it").pathNames
        guard try ExtendedAttribute.text("user.chatfs.state", of: path) != nil, parts.count >= 2,
            parts[parts.count - 2] == "Links"
        else {
            throw SystemError(code: EPERM, operation: "use a file outside of the folder Links of a mount")
        }
    }
}

/// The desktop's clipboard, through programs with access to it.
enum Clipboard {
    /// - Throws: `UsageError` if no such program is installed.
    static func copy(_ text: String) async throws {
        let isWayland = getenv("WAYLAND_DISPLAY") != nil
        let wayland: [[String]] = [["wl-copy"]]
        let x11: [[String]] = [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
        let found = (isWayland ? wayland + x11 : x11 + wayland).lazy.compactMap { words in
            ProgramSearch.path(of: words[0]).map { ($0, Array(words.dropFirst())) }
        }.first
        guard let (program, arguments) = found else {
            throw UsageError("--clipboard needs wl-copy, xclip or xsel; without it the link is printed")
        }
        var settings = ChildProcess.Settings(program, arguments)
        settings.input = .file(
            try await ThreadPool.shared.run { () throws(SystemError) in
                let file = try OpenFile.inMemory()
                try file.write(Array(text.utf8), at: 0)
                return file
            })
        // The program keeps running while it owns the clipboard, and must not hold the terminal open.
        (settings.output, settings.errors, settings.ownGroup) = (.null, .null, true)
        let child = try await ChildProcess.start(settings)
        guard case .code(0)? = await child.ending(within: .seconds(20)) else {
            throw DesktopError(.refused, "The clipboard could not be reached.")
        }
    }
}
