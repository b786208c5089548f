/// A positional argument.
public struct Argument: Sendable {
    public enum Count: Sendable { case one, optional, oneOrMore, any }

    /// Name in capitals, as in help: `MOUNTPOINT`.
    public let name: String
    public let type: ValueType
    public let count: Count
    public let help: String
    /// Value of an absent optional argument; shown in help.
    public let defaultText: String?

    public init(
        _ name: String, _ type: ValueType, count: Count = .one, default defaultText: String? = nil,
        _ help: String
    ) {
        self.name = name
        self.type = type
        self.count = count
        self.help = help
        self.defaultText = defaultText
    }

    /// `NAME`, `[NAME]`, `NAME…` or `[NAME…]`.
    var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .oneOrMore: "\(name)…"
        case .any: "[\(name)…]"
        }
    }
}
