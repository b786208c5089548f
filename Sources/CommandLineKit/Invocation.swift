/// A parsed command line: the command with the values of its options and arguments. Reading one that the command
/// does not take is a programming error and traps.
public struct Invocation: Sendable {
    /// The program and the words of the command: `["chatfs", "file", "send"]`.
    public let path: [String]
    public let command: Command
    /// The whole program, for help and completions.
    public let program: Command
    /// Set by SIGINT, SIGTERM and SIGHUP for commands with `waitsForStop`.
    public let stop: StopRequest

    private(set) var options: [String: [String]]
    let arguments: [String: [String]]
    /// From `--quiet` and `--verbose`.
    public let verbosity: Verbosity

    /// Returns this command line with values for absent options.
    /// - Parameter values: Values by option name, "" for a flag that is true. They must fit the options' types.
    public func adding(_ values: [String: [String]]) -> Invocation {
        var result = self
        result.options = values.merging(options) { _, given in given }
        return result
    }

    /// The values of all given options; "" for a flag, and none for one that was turned off.
    public var given: [String: [String]] { options }

    /// Returns true if the command takes the option.
    public func takes(_ option: any OptionDeclaration) -> Bool {
        command.options.contains { $0.name == option.name }
    }

    /// Returns true if the option was given; false if it was turned off, or if the command does not take it.
    public func isGiven(_ option: any OptionDeclaration) -> Bool { options[option.name]?.isEmpty == false }

    /// The value of an option, or its default.
    public subscript<Value>(option: Option<Value>) -> Value {
        precondition(takes(option), "\(path.joined(separator: " ")) has no option --\(option.name)")
        return option.value(in: options)
    }

    /// The value of an argument, or its default.
    public subscript<Value>(argument: Argument<Value>) -> Value {
        precondition(
            command.arguments.contains { $0.name == argument.name },
            "\(path.joined(separator: " ")) has no argument \(argument.name)")
        return argument.value(in: arguments)
    }
}
