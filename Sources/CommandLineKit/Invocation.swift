import Base

/// A command line that was understood: the command with the values of its options and arguments.
/// Names that the command's table does not have are a programming error and trap.
public struct Invocation: Sendable {
    /// The program and the words that led to the command: `["chatfs", "file", "send"]`.
    public let path: [String]
    public let command: Command
    /// The whole program, for help and completions.
    public let program: Command
    /// Turned by SIGINT, SIGTERM, SIGHUP for commands that wait for it.
    public let stop: StopRequest

    private(set) var options: [String: [String]]
    let arguments: [String: [String]]
    /// What `--quiet` and `--verbose` ask for.
    public let verbosity: Verbosity

    /// This command line with values for options that it does not name.
    ///
    /// - Parameter values: by names of options, "" for a flag. They fit the types of the options.
    public func adding(_ values: [String: [String]]) -> Invocation {
        var result = self
        result.options = values.merging(options) { _, given in given }
        return result
    }

    /// True when the flag was given.
    public func has(_ flag: String) -> Bool {
        precondition(option(flag).type == nil, "--\(flag) has a value")
        return options[flag] != nil
    }

    /// The value of an option: the last given, else its default.
    public subscript(_ name: String) -> String? {
        let option = option(name)
        return options[name]?.last ?? option.defaultText
    }

    /// Every value of an option that may be repeated, in order; the default when none was given.
    public func all(_ name: String) -> [String] {
        let option = option(name)
        return options[name] ?? option.defaultText.map { [$0] } ?? []
    }

    /// The value of an integer option.
    public func integer(_ name: String) -> Int? { self[name].flatMap(Int.init) }
    /// The value of a size option, in bytes.
    public func byteCount(_ name: String) -> UInt64? { self[name].flatMap { ByteCount.parse($0) } }
    /// The value of a time option.
    public func duration(_ name: String) -> Duration? { self[name].flatMap { DurationText.parse($0) } }

    /// An argument that is always there, or has a default.
    public func argument(_ name: String) -> String {
        guard let value = optionalArgument(name) else { preconditionFailure("\(name) may be missing") }
        return value
    }

    /// An argument that may be missing.
    public func optionalArgument(_ name: String) -> String? {
        let argument = argumentEntry(name)
        return arguments[name]?.first ?? argument.defaultText
    }

    /// All values of a repeated argument.
    public func allArguments(_ name: String) -> [String] {
        _ = argumentEntry(name)
        return arguments[name] ?? []
    }

    private func option(_ name: String) -> Option {
        guard let option = command.options.first(where: { $0.name == name }) else {
            preconditionFailure("\(path.joined(separator: " ")) has no option --\(name)")
        }
        return option
    }

    private func argumentEntry(_ name: String) -> Argument {
        guard let argument = command.arguments.first(where: { $0.name == name }) else {
            preconditionFailure("\(path.joined(separator: " ")) has no argument \(name)")
        }
        return argument
    }
}
