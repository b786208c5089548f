/// Reads up to `count` bytes of a file from `offset` on, fewer at its end.
public typealias MediaContent = (_ offset: UInt64, _ count: Int) throws -> [UInt8]

/// A `MediaContent` for several threads.
typealias SharedContent = @Sendable (_ offset: UInt64, _ count: Int) throws -> [UInt8]
