import Base

/// A `ValueType` with its conversions from and to text.
public struct ValueKind<Value: Sendable>: Sendable {
    let type: ValueType
    /// Returns nil only for texts that `type` refuses.
    private let parse: @Sendable (String) -> Value?
    /// The form of defaults in help.
    let format: @Sendable (Value) -> String

    func value(of text: String) -> Value {
        guard let value = parse(text) else { preconditionFailure("'\(text)' was not checked") }
        return value
    }
}

extension ValueKind<String> {
    public static var text: ValueKind { words(.text) }
    public static var file: ValueKind { words(.file) }
    public static var folder: ValueKind { words(.folder) }
    public static func listed(_ list: String) -> ValueKind { words(.listed(list)) }
    public static func choice(_ words: [String]) -> ValueKind { self.words(.choice(words)) }

    private static func words(_ type: ValueType) -> ValueKind {
        ValueKind(type: type, parse: { $0 }, format: { $0 })
    }
}

extension ValueKind where Value: RawRepresentable<String> & CaseIterable {
    /// One of the type's cases, by its raw value.
    public static func choice(_ type: Value.Type) -> ValueKind {
        ValueKind(
            type: .choice(type.allCases.map(\.rawValue)), parse: { Value(rawValue: $0) },
            format: { $0.rawValue })
    }
}

extension ValueKind<Bool> {
    /// One of two words, of which the first means true.
    public static func either(_ yes: String, _ no: String) -> ValueKind {
        ValueKind(type: .choice([yes, no]), parse: { $0 == yes }, format: { $0 ? yes : no })
    }
}

extension ValueKind<Int> {
    public static func integer(_ range: ClosedRange<Int>) -> ValueKind {
        ValueKind(type: .integer(range), parse: { Int($0) }, format: { "\($0)" })
    }
}

extension ValueKind<UInt64> {
    public static var byteCount: ValueKind {
        ValueKind(type: .byteCount, parse: { ByteCount.parse($0) }, format: ByteCount.exact)
    }
}

extension ValueKind<Duration> {
    public static var duration: ValueKind {
        ValueKind(type: .duration, parse: DurationText.parse, format: DurationText.exact)
    }
}
