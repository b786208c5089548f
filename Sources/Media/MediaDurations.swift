import Base

/// ISO base media files (MP4, MOV, M4A; ISO/IEC 14496-12): boxes of a length and a type; the duration is
/// in `mvhd` within `moov`, which may lie at either end.
enum MovieFile {
    private static let maxBoxes = 256

    static func duration(size: UInt64, _ content: MediaContent) throws -> Double? {
        guard try content(4, 4) == Array("ftyp".utf8),
            let movie = try box("moov", in: 0..<size, content),
            let header = try box("mvhd", in: movie, content)
        else { return nil }
        var reader = ByteReader(try content(header.lowerBound, 32))
        guard let version = reader.byte(), reader.bytes(3) != nil else { return nil }
        // Two times, the time scale, the duration: 64-bit times and duration in version 1.
        guard reader.bytes(version == 1 ? 16 : 8) != nil, let scale = reader.integer(UInt32.self), scale > 0
        else { return nil }
        let duration =
            version == 1 ? reader.integer(UInt64.self) : reader.integer(UInt32.self).map(UInt64.init)
        return duration.map { Double($0) / Double(scale) }
    }

    /// Where the content of the first box of a type lies.
    static func box(
        _ type: String, in range: Range<UInt64>, _ content: MediaContent
    ) throws -> Range<UInt64>? {
        var position = range.lowerBound
        for _ in 0..<maxBoxes {
            var reader = ByteReader(try content(position, 16))
            guard let short = reader.integer(UInt32.self), let name = reader.bytes(4) else { return nil }
            var length = UInt64(short)
            var header: UInt64 = 8
            if short == 1 {
                guard let long = reader.integer(UInt64.self) else { return nil }
                length = long
                header = 16
            } else if short == 0 {
                length = range.upperBound - position
            }
            guard length >= header, length <= range.upperBound - position else { return nil }
            if name == Array(type.utf8) { return position + header..<position + length }
            position += length
            if position >= range.upperBound { return nil }
        }
        return nil
    }
}

/// Ogg (RFC 3533) with Opus (RFC 7845): 48,000 samples a second; the granule position of the last page
/// counts them.
enum OggFile {
    static func duration(size: UInt64, _ content: MediaContent) throws -> Double? {
        let start = try content(0, 128)
        guard start.starts(with: Array("OggS".utf8)), let head = position(of: "OpusHead", in: start),
            start.count >= head + 12
        else { return nil }
        let skipped = UInt64(start[head + 10]) | UInt64(start[head + 11]) << 8
        // A page has at most 65,307 bytes.
        let tail = try content(size > 65_536 ? size - 65_536 : 0, 65_536)
        for place in tail.indices.reversed() where tail[place...].starts(with: Array("OggS".utf8)) {
            guard tail.count >= place + 14 else { continue }
            let samples = tail[(place + 6)..<(place + 14)].reversed().reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
            guard samples != .max, samples > skipped else { return nil }
            return Double(samples - skipped) / 48_000
        }
        return nil
    }

    private static func position(of text: String, in bytes: [UInt8]) -> Int? {
        let wanted = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: wanted) }
    }
}

/// Matroska and WebM (RFC 9559, EBML RFC 8794): `Duration` in units of `TimestampScale`, in the `Info`
/// element near the start of the segment.
enum MatroskaFile {
    private static let segment: UInt64 = 0x1853_8067
    private static let info: UInt64 = 0x1549_A966
    private static let timestampScale: UInt64 = 0x2A_D7B1
    private static let duration: UInt64 = 0x4489

    static func duration(_ content: MediaContent) throws -> Double? {
        let start = try content(0, 65_536)
        guard start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) else { return nil }
        guard let segment = element(segment, in: start[...]), let info = element(info, in: segment),
            let length = element(duration, in: info).flatMap(float)
        else { return nil }
        let scale = element(timestampScale, in: info).map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return length * Double(scale ?? 1_000_000) / 1_000_000_000
    }

    /// The content of the first element with an id, as far as it is there.
    private static func element(_ wanted: UInt64, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = bytes
        while let id = number(&rest, keepingMarker: true), let length = number(&rest, keepingMarker: false) {
            let content = rest.prefix(Int(clamping: length))
            if id == wanted { return content }
            rest = rest.dropFirst(content.count)
        }
        return nil
    }

    /// A number of variable length: the leading zeros of the first byte say how many bytes follow.
    private static func number(_ bytes: inout ArraySlice<UInt8>, keepingMarker: Bool) -> UInt64? {
        guard let first = bytes.first, first != 0 else { return nil }
        let count = first.leadingZeroBitCount + 1
        guard bytes.count >= count else { return nil }
        var value = keepingMarker ? UInt64(first) : UInt64(first & UInt8(truncatingIfNeeded: 0xFF >> count))
        for byte in bytes.dropFirst().prefix(count - 1) { value = value << 8 | UInt64(byte) }
        bytes = bytes.dropFirst(count)
        // All ones: a length that the writer did not know, up to the end.
        if !keepingMarker && value == (1 << UInt64(7 * count)) - 1 { value = .max }
        return value
    }

    private static func float(_ bytes: ArraySlice<UInt8>) -> Double? {
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch bytes.count {
        case 4: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        case 8: return Double(bitPattern: bits)
        default: return nil
        }
    }
}
