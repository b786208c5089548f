/// A positional argument of any type, for parsing, help, manual and completion.
public protocol ArgumentDeclaration: Sendable {
    /// Name in capitals, as in help: `MOUNTPOINT`.
    var name: String { get }
    var type: ValueType { get }
    var count: ArgumentCount { get }
    var help: String { get }
    /// Value of an absent optional argument; shown in help.
    var defaultText: String? { get }
}

public enum ArgumentCount: Sendable { case one, optional, oneOrMore, any }

extension ArgumentDeclaration {
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

/// A positional argument. `invocation[argument]` is its value: an array if it has a count, an optional if it may be
/// absent and has no default.
public struct Argument<Value: Sendable>: ArgumentDeclaration {
    public let name, help: String
    public let type: ValueType
    public let count: ArgumentCount
    public let defaultText: String?
    private let read: @Sendable ([String]) -> Value

    /// Creates a required argument.
    public init(_ name: String, _ kind: ValueKind<Value>, _ help: String) {
        self.init(name, kind.type, .one, help) { kind.value(of: $0[0]) }
    }

    public init(_ name: String, _ kind: ValueKind<Value>, default standard: Value, _ help: String) {
        self.init(name, kind.type, .optional, help, default: kind.format(standard)) {
            $0.first.map(kind.value) ?? standard
        }
    }

    public init<Element>(optional name: String, _ kind: ValueKind<Element>, _ help: String)
    where Value == Element? {
        self.init(name, kind.type, .optional, help) { $0.first.map(kind.value) }
    }

    public init<Element>(
        _ name: String, _ kind: ValueKind<Element>, count: ArgumentCount, _ help: String
    ) where Value == [Element] {
        self.init(name, kind.type, count, help) { $0.map(kind.value) }
    }

    private init(
        _ name: String, _ type: ValueType, _ count: ArgumentCount, _ help: String,
        default defaultText: String? = nil, read: @escaping @Sendable ([String]) -> Value
    ) {
        (self.name, self.type, self.count, self.help) = (name, type, count, help)
        (self.defaultText, self.read) = (defaultText, read)
    }

    /// Returns the value among the texts of a command line by argument name.
    func value(in texts: [String: [String]]) -> Value { read(texts[name] ?? []) }
}
