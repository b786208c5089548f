/// Result of parsing a named value.
enum Reading<Value> {
    case read(Value)
    case malformed
    case unknown

    init(_ value: Value?) { self = value.map { .read($0) } ?? .malformed }
}
