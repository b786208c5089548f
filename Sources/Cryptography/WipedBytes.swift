import CSodium

/// Key material of many short-lived steps: memory of its own that is never changed and is zeroed when the last
/// reference goes. Unlike `SecretBytes` it costs no pages and is not locked, so that tens of thousands of keys fit.
public final class WipedBytes: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    // Safe: written in the initialiser only.
    private let memory: UnsafeMutableRawPointer
    public let count: Int

    /// What `fill` writes into the memory itself, which is zeroed before. Nothing is left of it when `fill` throws.
    public init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        memory = .allocate(byteCount: max(count, 1), alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: max(count, 1))
        self.count = count
        try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
    }

    /// Copies the bytes; the caller's copy is its own to forget.
    public convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { memory in
            if bytes.withContiguousStorageIfAvailable({ memory.copyBytes(from: $0) }) == nil {
                memory.copyBytes(from: bytes)
            }
        }
    }

    /// Takes the bytes and leaves zeros in their place, if nobody else holds that array.
    public convenience init(taking bytes: inout [UInt8]) {
        self.init(bytes)
        bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
    }

    /// All of the parts, one after the other.
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

    /// A part, in memory of its own.
    public subscript(range: Range<Int>) -> WipedBytes {
        withUnsafeBytes { bytes in WipedBytes(UnsafeRawBufferPointer(rebasing: bytes[range])) }
    }

    /// A copy that nobody wipes: for what is sent, stored or no secret.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    public var description: String { "WipedBytes(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension WipedBytes: Equatable {
    /// In a time that depends on the lengths only.
    public static func == (left: WipedBytes, right: WipedBytes) -> Bool {
        left.count == right.count
            && (left.count == 0 || sodium_memcmp(left.memory, right.memory, left.count) == 0)
    }
}
