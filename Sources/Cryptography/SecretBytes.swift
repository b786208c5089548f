import Base
import CSodium

/// A long-lived key in its own memory: locked against swapping if the system allows it, between guard pages, read-only,
/// excluded from core dumps, and zeroed after use.
///
/// Each costs about 20 µs and two pages. Short-lived keys stay in arrays.
public final class SecretBytes: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    // Safe: written only in the initializer, then read-only.
    private let memory: UnsafeMutableRawPointer
    public let count: Int

    /// Lets `fill` write at most `limit` bytes into the memory and return their number. The secret then exists nowhere
    /// else.
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
        precondition((0...limit).contains(filled), "fill returned more than limit")
        count = filled
        self.memory = memory
        memory.storeBytes(of: 0, toByteOffset: filled, as: UInt8.self)
        sodium_mprotect_readonly(memory)
    }

    /// Returns aligned memory for `count` bytes and a trailing NUL. The size is rounded up because the allocation ends
    /// at a page boundary.
    private static func memory(for count: Int) -> UnsafeMutableRawPointer {
        Sodium.prepare()
        guard let memory = sodium_malloc((count + 16) & ~15) else { preconditionFailure("out of memory") }
        memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
        return memory
    }

    /// Copies the bytes. The caller wipes its own copy.
    public init(_ bytes: [UInt8]) {
        count = bytes.count
        memory = Self.memory(for: count)
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { memory.copyMemory(from: start, byteCount: source.count) }
        }
        sodium_mprotect_readonly(memory)
    }

    /// Generates random bytes in place.
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

    /// Compares in constant time.
    public func isEqual(to other: SecretBytes) -> Bool {
        count == other.count && sodium_memcmp(memory, other.memory, count) == 0
    }

    /// Passes the bytes as a C string, which ends at the first NUL.
    public func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        body(UnsafePointer(memory.assumingMemoryBound(to: CChar.self)))
    }

    public var description: String { "SecretBytes(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
