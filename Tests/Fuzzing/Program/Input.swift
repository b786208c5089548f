import Glibc

/// Splits an input for targets with several values. Missing bytes read as nothing, so that every input is valid.
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
    /// In pieces of `size` bytes, as from a network.
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
    /// Compares bytes by memcmp(3): the fuzzer traces each comparison that the compiler generates, which would slow it
    /// down.
    func hasBytes(of other: ArraySlice<UInt8>) -> Bool {
        guard count == other.count, !isEmpty else { return count == other.count }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { memcmp(mine.baseAddress!, $0.baseAddress!, mine.count) == 0 }
        }
    }
}
