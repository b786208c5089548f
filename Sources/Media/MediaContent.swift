/// The bytes of a file that is looked into: up to `count` from `offset` on, fewer at its end.
public typealias MediaContent = (_ offset: UInt64, _ count: Int) throws -> [UInt8]

/// The same for several threads.
typealias SharedContent = @Sendable (_ offset: UInt64, _ count: Int) throws -> [UInt8]
