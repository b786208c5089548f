import Base

/// ISO base media files (MP4, MOV, M4A; ISO/IEC 14496-12): boxes with length and type. The duration is in `mvhd` inside
/// `moov`, which is at either end of the file. In a fragmented file `mvhd` is often 0, and `mehd` has the total
/// duration.
enum MovieFile {
    private static let maxBoxes = 256

    static func duration(size: UInt64, _ content: MediaContent) throws -> Double? {
        guard try content(4, 4) == Array("ftyp".utf8),
            let movie = try box("moov", in: 0..<size, content),
            let header = try box("mvhd", in: movie, content)
        else { return nil }
        // Two times, the time scale and the duration; in version 1 times and duration have 64 bits.
        guard let (version, start) = try fields(of: header, content) else { return nil }
        var reader = start
        guard reader.bytes(version == 1 ? 16 : 8) != nil, let scale = reader.integer(UInt32.self), scale > 0
        else { return nil }
        let length = length(version, &reader)
        let fragmented = try fragmentedLength(in: movie, content)
        return (fragmented ?? length).map { Double($0) / Double(scale) }
    }

    /// Returns the duration of a movie with its fragments, in units of its time scale.
    private static func fragmentedLength(in movie: Range<UInt64>, _ content: MediaContent) throws -> UInt64? {
        guard let extends = try box("mvex", in: movie, content),
            let header = try box("mehd", in: extends, content),
            let (version, start) = try fields(of: header, content)
        else { return nil }
        var reader = start
        return length(version, &reader).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Returns the version of a full box and a reader behind its flags, limited to the box.
    private static func fields(
        of box: Range<UInt64>, _ content: MediaContent
    ) throws -> (version: UInt8, reader: ByteReader)? {
        var reader = ByteReader(try content(box.lowerBound, Int(min(32, box.upperBound - box.lowerBound))))
        guard let version = reader.byte(), version <= 1, reader.bytes(3) != nil else { return nil }
        return (version, reader)
    }

    /// Reads a duration. Returns nil for all ones, which means unknown.
    private static func length(_ version: UInt8, _ reader: inout ByteReader) -> UInt64? {
        if version == 1 { return reader.integer(UInt64.self).flatMap { $0 == .max ? nil : $0 } }
        return reader.integer(UInt32.self).flatMap { $0 == .max ? nil : UInt64($0) }
    }

    /// Returns the content range of the first box with a type.
    static func box(
        _ type: String, in range: Range<UInt64>, _ content: MediaContent
    ) throws -> Range<UInt64>? { try box(Array(type.utf8), in: range, content) }

    /// Returns the content range of a box whose type is not ASCII.
    static func box(
        _ type: [UInt8], in range: Range<UInt64>, _ content: MediaContent
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
            if name == type { return position + header..<position + length }
            position += length
            if position >= range.upperBound { return nil }
        }
        return nil
    }
}

/// Ogg (RFC 3533) with Opus (RFC 7845) at 48,000 samples per second. The granule position of the last page on which a
/// packet ends counts the samples.
enum OggFile {
    private static let capture = Array("OggS".utf8)
    /// The page header without its segment table.
    private static let headLength = 27

    static func duration(size: UInt64, _ content: MediaContent) throws -> Double? {
        let start = try content(0, 128)
        guard let first = page(at: 0, in: start), let head = position(of: "OpusHead", in: start),
            start.count >= head + 12
        else { return nil }
        let skipped = UInt64(start[head + 10]) | UInt64(start[head + 11]) << 8
        // A page has at most 65,307 bytes.
        let tail = try content(size > 65_536 ? size - 65_536 : 0, 65_536)
        for place in tail.indices.reversed() {
            // Audio data may look like a page header.
            guard let page = page(at: place, in: tail), page.stream == first.stream,
                place + page.length <= tail.count
            else { continue }
            // No packet ends on this page.
            if page.samples == .max { continue }
            guard page.samples > skipped else { return nil }
            return Double(page.samples - skipped) / 48_000
        }
        return nil
    }

    private static func position(of text: String, in bytes: [UInt8]) -> Int? {
        let wanted = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: wanted) }
    }

    /// Returns the granule position, stream serial number and length of the page at `place`, or nil if no page starts
    /// there.
    private static func page(
        at place: Int, in bytes: [UInt8]
    ) -> (samples: UInt64, stream: UInt64, length: Int)? {
        guard bytes.count - place >= headLength, bytes[place...].starts(with: capture),
            bytes[place + 4] == 0
        else { return nil }
        func number(_ offset: Int, _ count: Int) -> UInt64 {
            bytes[(place + offset)..<(place + offset + count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        let segments = Int(bytes[place + 26])
        let table = bytes[(place + headLength)...].prefix(segments)
        let length = headLength + segments + table.reduce(0) { $0 + Int($1) }
        return (number(6, 8), number(14, 4), length)
    }
}

/// Matroska and WebM (RFC 9559, EBML RFC 8794): `Duration` in units of `TimestampScale`, in the `Info` element near the
/// start of the segment.
enum MatroskaFile {
    private static let segment: UInt64 = 0x1853_8067
    private static let info: UInt64 = 0x1549_A966
    private static let timestampScale: UInt64 = 0x2A_D7B1
    private static let duration: UInt64 = 0x4489

    static func duration(_ content: MediaContent) throws -> Double? {
        let start = try content(0, 65_536)
        guard start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) else { return nil }
        guard let segment = element(segment, in: start[...]), let info = element(info, in: segment.content),
            let length = value(duration, in: info.content).flatMap(float)
        else { return nil }
        guard let written = element(timestampScale, in: info.content) else {
            return length * Double(defaultScale) / 1_000_000_000
        }
        guard written.isWhole, let scale = scale(written.content) else { return nil }
        return length * Double(scale) / 1_000_000_000
    }

    /// The default scale in nanoseconds, also for an empty element.
    private static let defaultScale: UInt64 = 1_000_000

    /// Returns nil for an invalid or zero scale.
    private static func scale(_ bytes: ArraySlice<UInt8>) -> UInt64? {
        guard bytes.count <= 8 else { return nil }
        if bytes.isEmpty { return defaultScale }
        let scale = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return scale > 0 ? scale : nil
    }

    /// Returns the content of the first element with an id, or nil if it is incomplete.
    private static func value(_ wanted: UInt64, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        element(wanted, in: bytes).flatMap { $0.isWhole ? $0.content : nil }
    }

    /// Returns the available content of the first element with an id.
    private static func element(
        _ wanted: UInt64, in bytes: ArraySlice<UInt8>
    ) -> (content: ArraySlice<UInt8>, isWhole: Bool)? {
        var rest = bytes
        while let id = number(&rest, keepingMarker: true), let length = number(&rest, keepingMarker: false) {
            let content = rest.prefix(Int(clamping: length))
            if id == wanted { return (content, content.count == Int(clamping: length)) }
            rest = rest.dropFirst(content.count)
        }
        return nil
    }

    /// Reads a variable-length number: the leading zeros of the first byte give the number of further bytes.
    private static func number(_ bytes: inout ArraySlice<UInt8>, keepingMarker: Bool) -> UInt64? {
        guard let first = bytes.first, first != 0 else { return nil }
        let count = first.leadingZeroBitCount + 1
        guard bytes.count >= count else { return nil }
        var value = keepingMarker ? UInt64(first) : UInt64(first & UInt8(truncatingIfNeeded: 0xFF >> count))
        for byte in bytes.dropFirst().prefix(count - 1) { value = value << 8 | UInt64(byte) }
        bytes = bytes.dropFirst(count)
        // All ones: unknown length, up to the end.
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
