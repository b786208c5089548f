/// Raw DEFLATE (RFC 1951), as web links of relays carry it. In Swift, because what is read here comes from strangers:
/// whatever the bytes are, it ends with at most `limit` bytes or with a failure.
enum Inflate {
    enum Failure: Error, Hashable {
        /// The bytes are no DEFLATE stream, or something follows its end.
        case malformed
        /// There is more than the limit.
        case tooLong
    }

    /// The bytes that `compressed` stands for.
    /// - Parameter limit: bytes of output at most; nothing beyond them is made.
    static func decode(_ compressed: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        var stream = Stream(input: BitReader(compressed), limit: limit)
        var isLast = false
        while !isLast {
            isLast = try stream.input.bits(1) == 1
            switch try stream.input.bits(2) {
            case 0: try stream.copyStored()
            case 1: try stream.expand(literals: .fixedLiterals, distances: .fixedDistances)
            case 2:
                let (literals, distances) = try stream.readTables()
                try stream.expand(literals: literals, distances: distances)
            default: throw .malformed
            }
        }
        guard stream.input.isAtEnd else { throw .malformed }
        return stream.output
    }

    // MARK: - Blocks

    private struct Stream {
        var input: BitReader
        let limit: Int
        var output: [UInt8] = []

        mutating func append(_ byte: UInt8) throws(Failure) {
            guard output.count < limit else { throw .tooLong }
            output.append(byte)
        }

        mutating func copyStored() throws(Failure) {
            input.skipToByte()
            let length = try input.bits(16)
            guard try input.bits(16) == ~length & 0xFFFF else { throw .malformed }
            for _ in 0..<length { try append(UInt8(try input.bits(8))) }
        }

        mutating func expand(literals: HuffmanCode, distances: HuffmanCode) throws(Failure) {
            while true {
                let symbol = try literals.next(&input)
                if symbol < 256 {
                    try append(UInt8(symbol))
                } else if symbol == 256 {
                    return
                } else {
                    guard symbol - 257 < Inflate.lengths.count else { throw .malformed }
                    let (base, extra) = Inflate.lengths[symbol - 257]
                    let length = base + (try input.bits(extra))
                    let place = try distances.next(&input)
                    guard place < Inflate.distances.count else { throw .malformed }
                    let (nearest, more) = Inflate.distances[place]
                    let distance = nearest + (try input.bits(more))
                    guard distance <= output.count else { throw .malformed }
                    for _ in 0..<length { try append(output[output.count - distance]) }
                }
            }
        }

        /// The order in which the lengths of the code for code lengths are written.
        private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

        mutating func readTables() throws(Failure) -> (HuffmanCode, HuffmanCode) {
            let literals = try input.bits(5) + 257
            let distances = try input.bits(5) + 1
            let count = try input.bits(4) + 4
            guard literals <= 286, distances <= 30 else { throw .malformed }
            var lengths = [Int](repeating: 0, count: 19)
            for place in Self.order[..<count] { lengths[place] = try input.bits(3) }
            guard let code = HuffmanCode(lengths), code.isComplete else { throw .malformed }
            lengths = []
            while lengths.count < literals + distances {
                let symbol = try code.next(&input)
                let (value, times): (Int, Int)
                switch symbol {
                case 16:
                    guard let last = lengths.last else { throw .malformed }
                    (value, times) = (last, 3 + (try input.bits(2)))
                case 17: (value, times) = (0, 3 + (try input.bits(3)))
                case 18: (value, times) = (0, 11 + (try input.bits(7)))
                default: (value, times) = (symbol, 1)
                }
                guard lengths.count + times <= literals + distances else { throw .malformed }
                lengths.append(contentsOf: repeatElement(value, count: times))
            }
            // Without an end no block would end.
            guard lengths[256] != 0, let first = HuffmanCode(lengths[..<literals]),
                let second = HuffmanCode(lengths[literals...]), first.isUsable, second.isUsable
            else { throw .malformed }
            return (first, second)
        }
    }

    /// Shortest length and extra bits of the symbols from 257 on.
    private static let lengths: [(Int, Int)] = {
        var pairs: [(Int, Int)] = []
        var base = 3
        for symbol in 0..<28 {
            let extra = symbol < 8 ? 0 : (symbol - 4) / 4
            pairs.append((base, extra))
            base += 1 << extra
        }
        return pairs + [(258, 0)]
    }()

    /// Nearest distance and extra bits of each symbol.
    private static let distances: [(Int, Int)] = {
        var pairs: [(Int, Int)] = []
        var base = 1
        for symbol in 0..<30 {
            let extra = symbol < 4 ? 0 : (symbol - 2) / 2
            pairs.append((base, extra))
            base += 1 << extra
        }
        return pairs
    }()
}

/// A canonical Huffman code of at most 15 bits.
private struct HuffmanCode {
    /// How many symbols have each length.
    private var counts = [Int](repeating: 0, count: 16)
    private var symbols: [Int] = []
    private var unused = 1

    static let fixedLiterals = HuffmanCode(
        unchecked: Array(repeating: 8, count: 144) + Array(repeating: 9, count: 112)
            + Array(repeating: 7, count: 24) + Array(repeating: 8, count: 8))
    static let fixedDistances = HuffmanCode(unchecked: Array(repeating: 5, count: 30))

    /// Every sequence of bits is one of a symbol.
    var isComplete: Bool { unused == 0 }
    /// As zlib takes it: complete, or with one symbol or none.
    var isUsable: Bool { isComplete || symbols.count <= 1 && counts[1] == symbols.count }

    /// nil where more symbols have a short code than there are short codes.
    init?(_ lengths: some Collection<Int>) {
        self.init(unchecked: lengths)
        guard unused >= 0 else { return nil }
    }

    private init(unchecked lengths: some Collection<Int>) {
        for length in lengths where length > 0 { counts[length] += 1 }
        for length in 1...15 where unused >= 0 { unused = unused * 2 - counts[length] }
        var starts = [Int](repeating: 0, count: 17)
        for length in 1...15 { starts[length + 1] = starts[length] + counts[length] }
        symbols = [Int](repeating: 0, count: starts[16])
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[starts[length]] = symbol
            starts[length] += 1
        }
    }

    func next(_ input: inout BitReader) throws(Inflate.Failure) -> Int {
        var (code, first, index) = (0, 0, 0)
        for length in 1...15 {
            code |= try input.bits(1)
            let count = counts[length]
            if code - count < first { return symbols[index + (code - first)] }
            index += count
            first = (first + count) << 1
            code <<= 1
        }
        throw .malformed
    }
}

/// Bits from the low end of each byte on.
private struct BitReader {
    private let bytes: [UInt8]
    private var position = 0
    private var held = 0
    private var count = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Nothing but the rest of the last byte is left.
    var isAtEnd: Bool { position == bytes.count && count < 8 }

    /// - Parameter wanted: at most 16.
    mutating func bits(_ wanted: Int) throws(Inflate.Failure) -> Int {
        while count < wanted {
            guard position < bytes.count else { throw .malformed }
            held |= Int(bytes[position]) << count
            position += 1
            count += 8
        }
        defer {
            held >>= wanted
            count -= wanted
        }
        return held & ((1 << wanted) - 1)
    }

    mutating func skipToByte() {
        held >>= count % 8
        count -= count % 8
    }
}
