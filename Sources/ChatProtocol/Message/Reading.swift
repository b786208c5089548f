/// Whether something of a name is known, and whether it could be read.
enum Reading<Value> {
    case read(Value)
    case malformed
    case unknown

    init(_ value: Value?) { self = value.map { .read($0) } ?? .malformed }
}
