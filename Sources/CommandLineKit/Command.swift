/// A command of a program. Parsing, help, manual page and shell completions use the same table, so they always agree.
public struct Command: Sendable {
    /// The asynchronous part of a command, run after the Swift runtime may start threads.
    public typealias Run = @Sendable (Invocation) async throws -> Void

    /// The command's word, such as `mount`.
    public let name: String
    /// One sentence for lists of commands, with a full stop.
    public let abstract: String
    /// Paragraphs for the command's help, separated by empty lines and wrapped to the terminal's width.
    public let discussion: String
    /// Heading in lists of commands, such as "Daily use".
    public let section: String
    public let arguments: [any ArgumentDeclaration]
    public let options: [any OptionDeclaration]
    public let examples: [Example]
    /// If not empty, the command is a group.
    public let subcommands: [Command]
    /// The subcommand that runs if none is named.
    let unnamed: String?
    /// True if SIGINT, SIGTERM and SIGHUP set `Invocation.stop` instead of ending the process.
    public let waitsForStop: Bool
    /// True for commands of the program's own scripts, absent from help, manual and completion.
    public let isHidden: Bool
    /// Words of other programs for which errors suggest this command.
    public private(set) var otherWords: [String] = []
    let begin: (@Sendable (Invocation) throws -> Run)?

    /// Creates an asynchronous command. A thrown `DescribedError` prints one line to standard error and exits with 1, a
    /// `UsageError` with 64, an `ExitCode` with its value.
    public init(
        _ name: String, _ abstract: String, discussion: String = "", section: String = "",
        arguments: [any ArgumentDeclaration] = [], options: [any OptionDeclaration] = [],
        examples: [Example] = [], waitsForStop: Bool = false, isHidden: Bool = false, run: @escaping Run
    ) {
        self.init(
            name, abstract, discussion, section, arguments, options, examples, waitsForStop, isHidden,
            begin: { _ in run })
    }

    /// Creates a command with a synchronous part that may fork (`Background`). `begin` runs on the main thread while it
    /// is the only one, and returns the asynchronous part. It must not await, start threads or create tasks.
    public static func beginningAlone(
        _ name: String, _ abstract: String, discussion: String = "", section: String = "",
        arguments: [any ArgumentDeclaration] = [], options: [any OptionDeclaration] = [],
        examples: [Example] = [], waitsForStop: Bool = false,
        begin: @escaping @Sendable (Invocation) throws -> Run
    ) -> Command {
        Command(
            name, abstract, discussion, section, arguments, options, examples, waitsForStop, false,
            begin: begin)
    }

    private init(
        _ name: String, _ abstract: String, _ discussion: String, _ section: String,
        _ arguments: [any ArgumentDeclaration], _ options: [any OptionDeclaration], _ examples: [Example],
        _ waitsForStop: Bool, _ isHidden: Bool, subcommands: [Command] = [], unnamed: String? = nil,
        begin: (@Sendable (Invocation) throws -> Run)?
    ) {
        (self.name, self.abstract, self.discussion, self.section) = (name, abstract, discussion, section)
        (self.arguments, self.options, self.examples) = (arguments, options, examples)
        (self.subcommands, self.unnamed, self.begin) = (subcommands, unnamed, begin)
        (self.waitsForStop, self.isHidden) = (waitsForStop, isHidden)
    }

    /// Returns the command with words of other programs for suggestions.
    public func suggested(for words: String...) -> Command {
        var command = self
        command.otherWords = words
        return command
    }

    /// Returns the suggestion for an unknown word.
    func suggestion(for word: String) -> String {
        let shown = subcommands.filter { !$0.isHidden }
        if let meant = shown.first(where: { $0.otherWords.contains(word.lowercased()) }) {
            return "; did you mean '\(meant.name)'?"
        }
        return Suggestion.text(for: word, among: shown.map(\.name))
    }

    /// Creates a group, as `file` groups `file send` and `file receive`, or the program itself.
    /// - Parameter unnamed: The subcommand that runs if none is named; nil makes that an error.
    public init(
        _ name: String, _ abstract: String, discussion: String = "", section: String = "",
        examples: [Example] = [], subcommands: [Command], unnamed: String? = nil
    ) {
        precondition(unnamed == nil || subcommands.contains { $0.name == unnamed })
        self.init(
            name, abstract, discussion, section, [], [], examples, false, false, subcommands: subcommands,
            unnamed: unnamed, begin: nil)
    }
}
