import CommandLineKit
import Glibc
import Posix
import XFTP

/// The description or link of commands for files without a chat.
enum DescriptionArgument {
    /// The argument for a description or a link.
    static let argument = Argument(
        "DESCRIPTION|LINK", .file,
        "A description (rcv1.xftp), a link (simplex:/file#…, or the web link of a relay), or - to read either from standard input, which "
            + "keeps it out of the list of processes.")

    /// Reads the description.
    static func description(
        from invocation: Invocation, argument: Argument<String> = argument
    ) async throws -> FileDescription {
        try await link(holding: invocation[argument]).fileDescription
    }

    /// Reads the description with a link's facts, of which a description file has none.
    static func describedLink(from invocation: Invocation) async throws -> FileLink {
        try await link(holding: invocation[argument])
    }

    private static func link(holding argument: String) async throws -> FileLink {
        try GivenLink.require([.file], argument)
        if argument != "-", FileLink.looksLikeLink(argument) { return try await FileLink.parse(argument) }
        let text = try await ThreadPool.shared.run { () throws(PathError) in
            try naming(argument) { try readText(argument) }
        }
        let trimmed = text.split(whereSeparator: \.isWhitespace)
        if trimmed.count == 1, FileLink.looksLikeLink(String(trimmed[0])) {
            return try await FileLink.parse(String(trimmed[0]))
        }
        return FileLink(try await FileDescription.parse(text))
    }

    /// Returns a link of the command line, from standard input for `-`.
    static func link(givenAs argument: String) async throws -> String {
        guard argument == "-" else {
            try GivenLink.require([.file], argument)
            return argument
        }
        let text = try await ThreadPool.shared.run { () throws(PathError) in
            try naming(argument) { try readText(argument) }
        }
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let link = words.first, words.count == 1 else {
            throw UsageError("standard input must contain exactly one link")
        }
        return String(link)
    }

    /// Reads a text; `-` reads standard input.
    /// - Parameters:
    ///   - name: The name of the text in errors.
    ///   - limit: The size in bytes at which reading stops.
    static func readText(
        _ path: String, as name: String = "the file description", upTo limit: Int = FileLink.longest + 1
    ) throws(SystemError) -> String {
        let descriptor =
            try path == "-"
            ? check("read standard input") { dup(STDIN_FILENO) }
            : check("open \(name)") { open(path, O_RDONLY | O_CLOEXEC) }
        let file = OpenFile(adopting: descriptor)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < limit {
            let count = try check("read \(name)") {
                read(file.descriptor, &piece, min(piece.count, limit - bytes.count))
            }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
