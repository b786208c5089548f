import Base
import CSodium

/// A long-lived key in memory of its own: locked against swapping where the system allows it, between
/// guard pages, read-only, excluded from core dumps, zeroed when the last reference goes.
///
/// Making one costs about 20 µs and two pages; keys of a single chunk stay in arrays.
public final class SecretBytes: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    // Safe: written in the initialiser only, read-only memory afterwards.
    private let memory: UnsafeMutableRawPointer
    public let count: Int

    /// What `fill` puts into the memory itself, at most `limit` bytes; it answers how many. They never were
    /// anywhere else.
    public init<Failure: Error>(
        upTo limit: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        let memory = Self.memory(for: limit)
        let filled: Int
        do throws(Failure) {
            filled = try fill(UnsafeMutableRawBufferPointer(start: memory, count: limit))
        } catch {
            sodium_free(memory)
            throw error
        }
        precondition((0...limit).contains(filled), "more than fits")
        count = filled
        self.memory = memory
        memory.storeBytes(of: 0, toByteOffset: filled, as: UInt8.self)
        sodium_mprotect_readonly(memory)
    }

    /// Memory for so many bytes, and a zero behind them; aligned, which the end of a page needs a round size for.
    private static func memory(for count: Int) -> UnsafeMutableRawPointer {
        Sodium.prepare()
        guard let memory = sodium_malloc((count + 16) & ~15) else { preconditionFailure("out of memory") }
        memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
        return memory
    }

    /// Copies the bytes; the caller's copy is its own to forget.
    public init(_ bytes: [UInt8]) {
        count = bytes.count
        memory = Self.memory(for: count)
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { memory.copyMemory(from: start, byteCount: source.count) }
        }
        sodium_mprotect_readonly(memory)
    }

    /// A fresh random key that never was anywhere else.
    public init(randomCount count: Int) {
        self.count = count
        memory = Self.memory(for: count)
        randombytes_buf(memory, count)
        sodium_mprotect_readonly(memory)
    }

    deinit { sodium_free(memory) }

    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: memory, count: count))
    }

    /// In a time that does not depend on where they differ.
    public func isEqual(to other: SecretBytes) -> Bool {
        count == other.count && sodium_memcmp(memory, other.memory, count) == 0
    }

    /// For C, which takes the first zero for the end.
    public func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        body(UnsafePointer(memory.assumingMemoryBound(to: CChar.self)))
    }

    public var description: String { "SecretBytes(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
