/// An option of any type, for parsing, help, manual, completion and configuration.
public protocol OptionDeclaration: Sendable {
    /// Name without dashes.
    var name: String { get }
    /// Letter of the short form; nil if there is none.
    var short: Character? { get }
    /// nil for a flag.
    var type: ValueType? { get }
    /// Name of the value in capitals, as in help; empty for a flag.
    var valueName: String { get }
    /// Value of an absent option; shown in help.
    var defaultText: String? { get }
    /// True if the option may be repeated; otherwise a repetition is an error.
    var repeats: Bool { get }
    /// True for a flag that a configuration may set: `=false` turns it off.
    var isConfigurable: Bool { get }
    var help: String { get }
}

extension OptionDeclaration {
    /// `--relay ADDR`, `--background` or `--no-finish[=false]`.
    var usage: String { "--" + name + (type == nil ? isConfigurable ? "[=false]" : "" : " " + valueName) }
    /// `--relay` and `-r`.
    var words: [String] { ["--" + name] + (short.map { ["-\($0)"] } ?? []) }
}

/// An option: `--background`, `--relay ADDR`, `-o FILE`. `invocation[option]` is its value: a `Bool` for a flag, an
/// array for a list, else an optional, or the type itself if there is a default.
public struct Option<Value: Sendable>: OptionDeclaration {
    public let name, valueName, help: String
    public let short: Character?
    public let type: ValueType?
    public let defaultText: String?
    public let repeats: Bool
    public private(set) var isConfigurable = false
    private let read: @Sendable ([String]) -> Value

    /// Creates an option with a value: the next word, whatever it begins with, or the text after `=`.
    public init<Element>(
        _ name: String, short: Character? = nil, named valueName: String, _ kind: ValueKind<Element>,
        _ help: String
    ) where Value == Element? {
        self.init(name, short, kind.type, valueName, help) { $0.last.map(kind.value) }
    }

    public init(
        _ name: String, short: Character? = nil, named valueName: String, _ kind: ValueKind<Value>,
        default standard: Value, _ help: String
    ) {
        self.init(name, short, kind.type, valueName, help, default: kind.format(standard)) {
            $0.last.map(kind.value) ?? standard
        }
    }

    /// Creates an option that may be repeated.
    public static func list<Element>(
        _ name: String, short: Character? = nil, named valueName: String, _ kind: ValueKind<Element>,
        _ help: String
    ) -> Option where Value == [Element] {
        Option(name, short, kind.type, valueName, help, repeats: true) { $0.map(kind.value) }
    }

    /// Creates an option without a value.
    public static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option
    where Value == Bool {
        Option(name, short, nil, "", help) { !$0.isEmpty }
    }

    private init(
        _ name: String, _ short: Character?, _ type: ValueType?, _ valueName: String, _ help: String,
        default defaultText: String? = nil, repeats: Bool = false,
        read: @escaping @Sendable ([String]) -> Value
    ) {
        (self.name, self.short, self.type, self.valueName) = (name, short, type, valueName)
        (self.help, self.defaultText, self.repeats, self.read) = (help, defaultText, repeats, read)
    }

    /// Returns the value among texts by option name, "" for a flag that is true. The texts must fit the options' types.
    public func value(in texts: [String: [String]]) -> Value { read(texts[name] ?? []) }
}

extension Option where Value == Bool {
    /// Returns the flag for commands that read it from a configuration too.
    public var configurable: Option {
        var option = self
        option.isConfigurable = true
        return option
    }
}
