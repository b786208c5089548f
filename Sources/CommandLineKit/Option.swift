/// An option: `--background`, `--relay ADDR`, `-o FILE`.
public struct Option: Sendable {
    /// Name without dashes.
    public let name: String
    /// Letter of the short form; nil if there is none.
    public let short: Character?
    /// nil for a flag.
    public let type: ValueType?
    /// Name of the value in capitals, as in help; empty for a flag.
    public let valueName: String
    /// Value of an absent option; shown in help.
    public let defaultText: String?
    /// True if the option may be repeated; otherwise a repetition is an error.
    public let repeats: Bool
    public let help: String

    /// Creates an option without a value.
    public static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option {
        Option(
            name: name, short: short, type: nil, valueName: "", defaultText: nil, repeats: false, help: help)
    }

    /// Creates an option with a value: the next word, whatever it begins with, or the text after `=`.
    public static func value(
        _ name: String, short: Character? = nil, named valueName: String, _ type: ValueType,
        default defaultText: String? = nil, repeats: Bool = false, _ help: String
    ) -> Option {
        Option(
            name: name, short: short, type: type, valueName: valueName, defaultText: defaultText,
            repeats: repeats, help: help)
    }

    /// `--relay ADDR`.
    var usage: String { "--" + name + (type == nil ? "" : " " + valueName) }
}
