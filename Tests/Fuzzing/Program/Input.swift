import Glibc

/// Takes an input apart, for targets that need more than one value. What is not there reads as nothing, so
/// that every input means something.
struct Input {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    mutating func bool() -> Bool { byte() & 1 == 1 }

    /// 0..<limit
    mutating func number(below limit: Int) -> Int { Int(byte()) % limit }

    mutating func integer() -> Int64 {
        var number: UInt64 = 0
        for _ in 0..<8 { number = number << 8 | UInt64(byte()) }
        return Int64(bitPattern: number)
    }

    mutating func take(_ count: Int) -> [UInt8] {
        defer { bytes = bytes.dropFirst(count) }
        return Array(bytes.prefix(count))
    }

    /// Bytes after their number.
    mutating func some() -> [UInt8] { take(Int(byte())) }

    mutating func text() -> String { String(decoding: some(), as: UTF8.self) }

    mutating func rest() -> [UInt8] { take(bytes.count) }
}

extension [UInt8] {
    /// In pieces of `size` bytes, as a network may deliver them.
    func inPieces(of size: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = Swift.min(start + Swift.max(1, size), bytes.count)
                try body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }

    var text: String { String(decoding: self, as: UTF8.self) }
}

extension ArraySlice<UInt8> {
    /// Whether both hold the same bytes. By memcmp(3): each comparison that the compiler makes of two bytes is
    /// reported to the fuzzer, which then does little else.
    func hasBytes(of other: ArraySlice<UInt8>) -> Bool {
        guard count == other.count, !isEmpty else { return count == other.count }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { memcmp(mine.baseAddress!, $0.baseAddress!, mine.count) == 0 }
        }
    }
}
