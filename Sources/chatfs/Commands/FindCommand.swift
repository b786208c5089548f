import CommandLineKit
import Desktop
import Glibc
import Posix

/// `chatfs find`: prints paths of files by name, state and sender.
enum FindCommand {
    private static let pattern = Argument(
        optional: "PATTERN", .text, "Pattern of the name; default all files.")
    private static let folder = Option(
        "in", named: "PATH", .folder, "The folder of a chat, or a mountpoint; by default the only mount.")
    private static let sender = Option(
        "from", named: "NAME", .text, "Only files or messages from this sender.")
    private static let text = Option(
        "text", named: "WORDS", .text, "Messages and captions with all of these words instead of files.")
    private static let larger = Option("larger", named: "SIZE", .byteCount, "Only files of more bytes.")
    private static let smaller = Option("smaller", named: "SIZE", .byteCount, "Only files of fewer bytes.")
    private static let print0 = Option.flag("print0", "End each path with a NUL character, for xargs -0.")

    static let command = Command(
        "find", "Find files of a mount by name, state, sender or size, and messages by their words.",
        discussion: """
            Prints their paths, one per line. In PATTERN, * stands for any characters, ? for one and [a-z] for one of \
            several; upper and lower case are equal. A PATTERN without these matches any part of the name. The search \
            receives no files.

            With --text it prints messages and captions with these words instead, one per line, with chat, time and \
            author. Of official cores, only a phone has texts to search.
            """,
        section: CommandSection.daily, arguments: [pattern],
        options: [
            folder, ProgramConnection.states, sender, text, larger, smaller, print0, ProgramConnection.json,
            CommonOptions.mount,
        ],
        examples: [
            Example("chatfs find '*.pdf' --from Alice", "Find all PDF files from Alice."),
            Example("chatfs find --text 'train tickets'", "Find messages about them in all chats."),
            Example(
                "chatfs find --state remote --larger 100mb", "Find large files that are not received yet."),
        ]
    ) { invocation in
        let search = Search(invocation)
        let (isForPrograms, endsInNUL) = (invocation[ProgramConnection.json], invocation[print0])
        let place = try await ProgramConnection.Place(
            invocation[folder], mount: invocation[CommonOptions.mount])
        let client = try await ProgramConnection.client(of: place.mounted)
        if let text = invocation[text] {
            let texts = try TextSearch(text, from: senderOfMessages(invocation))
            return try await ThreadPool.shared.run { () throws(any Error) in
                let folders = try client.chats().map(\.folder)
                    .filter { place.path.isEmpty || place.path == $0 || place.path.hasPrefix($0 + "/") }
                try texts.run(in: folders, of: place.mounted, isForPrograms: isForPrograms)
            }
        }
        try await ThreadPool.shared.run { () throws(any Error) in
            try client.items(of: place.path.isEmpty ? nil : place.path, states: search.states) { item in
                guard search.fits(item) else { return }
                if isForPrograms { return try Terminal.show(ProgramConnection.json(item)) }
                let path = "\(place.mounted.mountpoint)/\(item.path)"
                if endsInNUL { return try Terminal.show(path, end: "\0") }
                try Terminal.show(Terminal.isTerminal(STDOUT_FILENO) ? PrintableText.escaping(path) : path)
            }
        }
    }

    /// - Throws: `UsageError` for an option that is about files.
    private static func senderOfMessages(_ invocation: Invocation) throws(UsageError) -> String? {
        let others: [any OptionDeclaration] = [ProgramConnection.states, larger, smaller, print0]
        if let first = others.first(where: invocation.isGiven) {
            throw UsageError("--\(first.name) applies to files, --text to messages")
        }
        if invocation[pattern] != nil {
            throw UsageError("PATTERN applies to files, --text to messages: give only one")
        }
        return invocation[sender]
    }

    /// The search criteria.
    private struct Search: Sendable {
        let pattern: String?
        let states: [String]?
        let sender: String?
        let range: ClosedRange<UInt64>

        init(_ invocation: Invocation) {
            pattern = invocation[FindCommand.pattern].map { text in
                text.contains(where: { "*?[".contains($0) }) ? text : "*\(text)*"
            }
            let states = invocation[ProgramConnection.states].map(\.rawValue)
            self.states = states.isEmpty ? nil : states
            sender = invocation[FindCommand.sender]
            let lower = invocation[larger].map { $0 == .max ? $0 : $0 + 1 } ?? 0
            let upper = invocation[smaller].map { $0 == 0 ? 0 : $0 - 1 } ?? .max
            range = lower...max(lower, upper)
        }

        func fits(_ item: ProgramItem) -> Bool {
            guard range.contains(item.size), sender == nil || item.sender == sender else { return false }
            // FNM_CASEFOLD of fnmatch(3).
            return pattern.map { fnmatch($0, item.name, 1 << 4) == 0 } ?? true
        }
    }
}
