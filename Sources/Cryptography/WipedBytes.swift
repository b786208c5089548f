import CSodium

/// A short-lived secret in its own memory, never changed and zeroed after use. Unlike `SecretBytes` it uses no whole
/// pages and is not locked, so tens of thousands of keys fit.
public final class WipedBytes: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    // Safe: written only in the initializer.
    private let memory: UnsafeMutableRawPointer
    public let count: Int

    /// Lets `fill` write into zeroed memory. If `fill` throws, the memory is wiped.
    public init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        memory = .allocate(byteCount: max(count, 1), alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: max(count, 1))
        self.count = count
        try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
    }

    /// Copies the bytes. The caller wipes its own copy.
    public convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { memory in
            if bytes.withContiguousStorageIfAvailable({ memory.copyBytes(from: $0) }) == nil {
                memory.copyBytes(from: bytes)
            }
        }
    }

    /// Copies the bytes and zeroes the original, unless another reference shares that array.
    public convenience init(taking bytes: inout [UInt8]) {
        self.init(bytes)
        bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
    }

    /// Concatenates the parts.
    public convenience init(joining parts: [WipedBytes]) {
        self.init(count: parts.reduce(0) { $0 + $1.count }) { memory in
            var start = 0
            for part in parts {
                part.withUnsafeBytes { memory[start...].copyBytes(from: $0) }
                start += part.count
            }
        }
    }

    deinit {
        sodium_memzero(memory, count)
        memory.deallocate()
    }

    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: memory, count: count))
    }

    /// Copies a range into its own memory.
    public subscript(range: Range<Int>) -> WipedBytes {
        withUnsafeBytes { bytes in WipedBytes(UnsafeRawBufferPointer(rebasing: bytes[range])) }
    }

    /// An unprotected copy, for bytes to send or store and for public bytes.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    public var description: String { "WipedBytes(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension WipedBytes: Equatable {
    /// Compares in a time that depends only on the lengths.
    public static func == (left: WipedBytes, right: WipedBytes) -> Bool {
        left.count == right.count
            && (left.count == 0 || sodium_memcmp(left.memory, right.memory, left.count) == 0)
    }
}
