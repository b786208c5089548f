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

    /// Copies the bytes; the caller's copy is its own to forget.
    public init(_ bytes: [UInt8]) {
        Sodium.prepare()
        count = bytes.count
        guard let memory = sodium_malloc(max(bytes.count, 1)) else { preconditionFailure("out of memory") }
        self.memory = memory
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { memory.copyMemory(from: start, byteCount: source.count) }
        }
        sodium_mprotect_readonly(memory)
    }

    /// A fresh random key that never was anywhere else.
    public init(randomCount count: Int) {
        Sodium.prepare()
        self.count = count
        guard let memory = sodium_malloc(max(count, 1)) else { preconditionFailure("out of memory") }
        self.memory = memory
        randombytes_buf(memory, count)
        sodium_mprotect_readonly(memory)
    }

    deinit { sodium_free(memory) }

    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: memory, count: count))
    }

    public var description: String { "SecretBytes(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
