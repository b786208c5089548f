/// One command of a program: what it is called, what it takes, what it does. The same table makes
/// parsing, help, the man page and the shell completions, so that they cannot disagree.
public struct Command: Sendable {
    /// The work of a command, run as a task once the Swift runtime may start threads.
    public typealias Run = @Sendable (Invocation) async throws -> Void

    /// The word on the command line, for example `mount`.
    public let name: String
    /// One sentence for lists of commands, with a full stop.
    public let abstract: String
    /// Paragraphs for the command's own help, separated by empty lines. Wrapped to the width.
    public let discussion: String
    /// Heading under which the list of commands shows it, for example "Daily use".
    public let section: String
    public let arguments: [Argument]
    public let options: [Option]
    public let examples: [Example]
    /// When not empty, the command only leads to these and does nothing itself.
    public let subcommands: [Command]
    /// The subcommand that is meant where none is named.
    let unnamed: String?
    /// True when the command lives until it is told to stop: SIGINT, SIGTERM and SIGHUP then reach
    /// it through `Invocation.stop` instead of ending the process.
    public let waitsForStop: Bool
    /// For scripts of the program itself: in no help, manual or completion.
    public let isHidden: Bool
    /// Words that other programs have for it: an error about one of them names this command.
    public private(set) var otherWords: [String] = []
    let begin: (@Sendable (Invocation) throws -> Run)?

    /// A command that works in a task. A thrown `DescribedError` becomes one line on standard error
    /// and exit code 1, a `UsageError` exit code 64, an `ExitCode` itself.
    public init(
        _ name: String, _ abstract: String, discussion: String = "", section: String = "",
        arguments: [Argument] = [], options: [Option] = [], examples: [Example] = [],
        waitsForStop: Bool = false, isHidden: Bool = false, run: @escaping Run
    ) {
        self.init(
            name, abstract, discussion, section, arguments, options, examples, waitsForStop, isHidden,
            begin: { _ in run })
    }

    /// A command whose beginning must come before any thread or task exists, because it may fork
    /// (`Background`): `begin` runs on the main thread of a process that still has only that one,
    /// and answers the work to do in a task. It may not await, start threads or create tasks.
    public static func beginningAlone(
        _ name: String, _ abstract: String, discussion: String = "", section: String = "",
        arguments: [Argument] = [], options: [Option] = [], examples: [Example] = [],
        waitsForStop: Bool = false, begin: @escaping @Sendable (Invocation) throws -> Run
    ) -> Command {
        Command(
            name, abstract, discussion, section, arguments, options, examples, waitsForStop, false,
            begin: begin)
    }

    private init(
        _ name: String, _ abstract: String, _ discussion: String, _ section: String, _ arguments: [Argument],
        _ options: [Option], _ examples: [Example], _ waitsForStop: Bool, _ isHidden: Bool,
        begin: @escaping @Sendable (Invocation) throws -> Run
    ) {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.section = section
        self.arguments = arguments
        self.options = options
        self.examples = examples
        self.waitsForStop = waitsForStop
        self.isHidden = isHidden
        self.begin = begin
        subcommands = []
        unnamed = nil
    }

    /// The same command, named by errors about these words of other programs.
    public func suggested(for words: String...) -> Command {
        var command = self
        command.otherWords = words
        return command
    }

    /// Of an error about an unknown word: the subcommand that may be meant.
    func suggestion(for word: String) -> String {
        let shown = subcommands.filter { !$0.isHidden }
        if let meant = shown.first(where: { $0.otherWords.contains(word.lowercased()) }) {
            return "; did you mean '\(meant.name)'?"
        }
        return Suggestion.text(for: word, among: shown.map(\.name))
    }

    /// A command that only groups others, as `file` groups `file send` and `file receive`; also the
    /// program itself.
    /// - Parameter unnamed: the subcommand that is meant where none is named; nil: then one is missing.
    public init(
        _ name: String, _ abstract: String, discussion: String = "", section: String = "",
        examples: [Example] = [], subcommands: [Command], unnamed: String? = nil
    ) {
        precondition(unnamed == nil || subcommands.contains { $0.name == unnamed })
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.section = section
        self.examples = examples
        self.subcommands = subcommands
        self.unnamed = unnamed
        arguments = []
        options = []
        waitsForStop = false
        isHidden = false
        begin = nil
    }
}
