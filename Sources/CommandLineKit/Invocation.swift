import Base

/// A parsed command line: the command with the values of its options and arguments. Names missing from the command's
/// table are programming errors and trap.
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
    /// - Parameter values: Values by option name, "" for a flag. They must fit the options' types.
    public func adding(_ values: [String: [String]]) -> Invocation {
        var result = self
        result.options = values.merging(options) { _, given in given }
        return result
    }

    /// The values of all given options; "" for a flag.
    public var given: [String: [String]] { options }

    /// Returns true if the flag was given.
    public func has(_ flag: String) -> Bool {
        precondition(option(flag).type == nil, "--\(flag) has a value")
        return options[flag] != nil
    }

    /// The last given value of an option, or its default.
    public subscript(_ name: String) -> String? {
        let option = option(name)
        return options[name]?.last ?? option.defaultText
    }

    /// Returns all values of a repeatable option in order, or the default.
    public func all(_ name: String) -> [String] {
        let option = option(name)
        return options[name] ?? option.defaultText.map { [$0] } ?? []
    }

    /// Returns the value of an integer option.
    public func integer(_ name: String) -> Int? { self[name].flatMap(Int.init) }
    /// Returns the value of a size option in bytes.
    public func byteCount(_ name: String) -> UInt64? { self[name].flatMap { ByteCount.parse($0) } }
    /// Returns the value of a duration option.
    public func duration(_ name: String) -> Duration? { self[name].flatMap { DurationText.parse($0) } }

    /// Returns an argument that is required or has a default.
    public func argument(_ name: String) -> String {
        guard let value = optionalArgument(name) else { preconditionFailure("\(name) may be missing") }
        return value
    }

    /// Returns an optional argument.
    public func optionalArgument(_ name: String) -> String? {
        let argument = argumentEntry(name)
        return arguments[name]?.first ?? argument.defaultText
    }

    /// Returns all values of a repeated argument.
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
