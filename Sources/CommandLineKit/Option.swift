/// A choice named on the command line: `--background`, `--relay ADDR`, `-o FILE`.
public struct Option: Sendable {
    /// Without the dashes.
    public let name: String
    /// One letter for the short form, if there is one.
    public let short: Character?
    /// nil for a flag.
    public let type: ValueType?
    /// In capitals, as help shows it; empty for a flag.
    public let valueName: String
    /// Used when the option is not given; shown in the help.
    public let defaultText: String?
    /// May be given several times; otherwise a second time is an error.
    public let repeats: Bool
    public let help: String

    /// An option without a value.
    public static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option {
        Option(
            name: name, short: short, type: nil, valueName: "", defaultText: nil, repeats: false, help: help)
    }

    /// An option that needs a value. The value is the next word whatever it begins with, or what
    /// stands behind `=`.
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
