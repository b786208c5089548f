import Base
import ChatCore
import TestSupport
import Testing

@testable import Media

/// Containers as in their specifications, and from hostile or broken writers.
@Suite("Durations of videos and recordings")
struct DurationTests {
    /// Returns the duration of a file with these bytes, or nil if it is sent as a file. Fails if the parser reads
    /// beyond the end endlessly.
    private func seconds(_ name: String, _ bytes: [UInt8], size: UInt64? = nil) throws -> Int? {
        let kind = try MediaInspection.kind(name: Array(name.utf8), size: size ?? UInt64(bytes.count)) {
            offset, count in
            offset < UInt64(bytes.count) ? Array(bytes[Int(offset)...].prefix(count)) : []
        }
        switch kind {
        case .video(_, let seconds), .voice(let seconds): return seconds
        default: return nil
        }
    }

    // MARK: - MP4

    private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(content.count + 8))
        return bytes + Array(type.utf8) + content
    }

    private func longBox(_ type: String, _ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 1] + Array(type.utf8)
        bytes.append(bigEndian: UInt64(content.count + 16))
        return bytes + content
    }

    /// A movie header; `rest` bytes follow the duration.
    private func header(_ version: UInt8, scale: UInt32, duration: UInt64, rest: Int = 80) -> [UInt8] {
        var bytes: [UInt8] = [version, 0, 0, 0] + [UInt8](repeating: 1, count: version == 1 ? 16 : 8)
        bytes.append(bigEndian: scale)
        if version == 1 {
            bytes.append(bigEndian: duration)
        } else {
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: duration))
        }
        return box("mvhd", bytes + [UInt8](repeating: 0, count: rest))
    }

    private func fragments(_ version: UInt8, _ duration: UInt64) -> [UInt8] {
        var bytes: [UInt8] = [version, 0, 0, 0]
        if version == 1 {
            bytes.append(bigEndian: duration)
        } else {
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: duration))
        }
        return box("mvex", box("mehd", bytes) + box("trex", [UInt8](repeating: 0, count: 24)))
    }

    private func movie(_ parts: [UInt8]...) -> [UInt8] {
        box("ftyp", Array("isom0000".utf8)) + box("moov", parts.flatMap { $0 })
            + box("mdat", [UInt8](repeating: 7, count: 100))
    }

    @Test("both header versions give the duration")
    func versions() throws {
        #expect(try seconds("a.mp4", movie(header(0, scale: 600, duration: 600 * 90))) == 90)
        #expect(try seconds("a.mp4", movie(header(1, scale: 90_000, duration: 90_000 * 7200))) == 7200)
        #expect(try seconds("a.mov", movie(header(1, scale: 1, duration: 86_400))) == 86_400)
        // Durations are rounded, and at least one second.
        #expect(try seconds("a.mp4", movie(header(0, scale: 2, duration: 3))) == 2)
        #expect(try seconds("a.mp4", movie(header(0, scale: 1000, duration: 1))) == 1)
        for version in UInt8(2)...255 {
            let strange = movie(header(version, scale: 1, duration: 9))
            #expect(try seconds("a.mp4", strange) == nil, "version \(version) is none")
        }
    }

    @Test(
        "implausible movie headers give no duration",
        arguments: [
            (0, 0, 9), (0, 600, 0), (1, 0, 9), (1, 1, 86_401), (0, 1, 86_401), (1, 1, UInt64.max - 1),
        ]
            as [(UInt8, UInt32, UInt64)])
    func nonsense(version: UInt8, scale: UInt32, duration: UInt64) throws {
        #expect(try seconds("a.mp4", movie(header(version, scale: scale, duration: duration))) == nil)
    }

    @Test(
        "all ones mean an unknown duration",
        arguments: [0, 1] as [UInt8])
    func unknown(version: UInt8) throws {
        // 2³² - 1 would be less than twelve hours at this scale.
        let bytes = movie(header(version, scale: 100_000, duration: .max))
        #expect(try seconds("a.mp4", bytes) == nil)
        let vast = movie(header(version, scale: .max, duration: .max))
        #expect(try seconds("a.mp4", vast) == nil)
    }

    @Test("fragmented files give the total duration", arguments: [0, 1] as [UInt8])
    func fragmented(version: UInt8) throws {
        for own in [UInt64(0), 1000, .max] {
            let bytes = movie(
                header(version, scale: 1000, duration: own), fragments(version, 61_000))
            #expect(try seconds("a.mp4", bytes) == 61, "beside \(own)")
        }
        // Fragments without a duration: use that of the movie.
        for unknown in [UInt64(0), .max] {
            let own = movie(header(version, scale: 1000, duration: 5000), fragments(version, unknown))
            #expect(try seconds("a.mp4", own) == 5)
            let neither = movie(header(version, scale: 1000, duration: 0), fragments(version, unknown))
            #expect(try seconds("a.mp4", neither) == nil)
        }
        #expect(try seconds("a.mp4", movie(header(0, scale: 1000, duration: 5000), box("mvex", []))) == 5)
        let strange = movie(header(0, scale: 1000, duration: 5000), fragments(7, 9000))
        #expect(try seconds("a.mp4", strange) == 5)
    }

    @Test("a short header does not read the next box")
    func short() throws {
        for length in 0..<20 {
            let whole = header(0, scale: 600, duration: 6000, rest: 0)
            let cut = box("mvhd", Array(whole[8...].prefix(length)))
            let bytes = movie(cut, box("trak", [UInt8](repeating: 0x11, count: 60)))
            #expect(try seconds("a.mp4", bytes) == nil, "after \(length) bytes")
        }
        #expect(try seconds("a.mp4", movie(header(0, scale: 600, duration: 6000, rest: 0))) == 10)
    }

    @Test("64-bit lengths and open-ended last boxes")
    func lengths() throws {
        let inner = header(0, scale: 10, duration: 120)
        let start = box("ftyp", Array("isom".utf8))
        #expect(try seconds("a.mp4", start + longBox("moov", longBox("free", [1, 2]) + inner)) == 12)
        let open = [0, 0, 0, 0] + Array("moov".utf8) + inner
        #expect(try seconds("a.mp4", start + open) == 12)
        // A box longer than its parent, shorter than its header, or with an overflowing length.
        for length in [[0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 7], [0, 0, 0, 2]] as [[UInt8]] {
            #expect(try seconds("a.mp4", start + length + Array("free".utf8) + box("moov", inner)) == nil)
        }
        for high in [0xFF, 0x7F, 0x80] as [UInt8] {
            var far: [UInt8] = [0, 0, 0, 1] + Array("free".utf8) + [high]
            far += [UInt8](repeating: 0xFF, count: 7)
            for size in [nil, UInt64.max, UInt64.max >> 1] {
                #expect(try seconds("a.mp4", start + far + box("moov", inner), size: size) == nil)
            }
        }
    }

    @Test("the number of examined boxes is limited")
    func many() throws {
        let filler = Array(repeating: box("free", []), count: 200).flatMap { $0 }
        let start = box("ftyp", Array("isom".utf8))
        let inner = box("moov", header(0, scale: 10, duration: 120))
        #expect(try seconds("a.mp4", start + filler + inner) == 12)
        #expect(try seconds("a.mp4", start + filler + filler + inner) == nil)
        // Nested boxes without end: every look is a step.
        var steps = 0
        _ = try MediaInspection.kind(name: Array("a.mp4".utf8), size: .max) { offset, count in
            steps += 1
            if offset == 4 { return Array("ftyp".utf8) }
            return Array(
                ([0, 0, 0, 8] + Array("free".utf8) + [UInt8](repeating: 0, count: 24)).prefix(count))
        }
        #expect(steps < 300)
    }

    @Test("read errors are thrown")
    func refused() {
        struct Refused: Error {}
        for name in ["a.mp4", "a.mkv", "voice.ogg", "a.jpg"] {
            #expect(throws: Refused.self) {
                try MediaInspection.kind(name: Array(name.utf8), size: 1000) { _, _ in throw Refused() }
            }
        }
    }

    // MARK: - Ogg

    private func page(
        _ kind: UInt8, samples: UInt64, stream: UInt32 = 5, version: UInt8 = 0, _ content: [UInt8]
    ) -> [UInt8] {
        var bytes = Array("OggS".utf8) + [version, kind]
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: samples >> (8 * UInt64($0))) }
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: stream >> (8 * UInt32($0))) }
        bytes += [UInt8](repeating: 0, count: 8)
        var (table, rest) = ([UInt8](), content.count)
        while rest >= 255 {
            table.append(255)
            rest -= 255
        }
        table.append(UInt8(rest))
        return bytes + [UInt8(table.count)] + table + content
    }

    private func opus(skipping skipped: UInt16 = 312) -> [UInt8] {
        let head = Array("OpusHead".utf8) + [1, 1, UInt8(skipped & 0xFF), UInt8(skipped >> 8)]
        return page(2, samples: 0, head + [0x80, 0xBB, 0, 0, 0, 0, 0])
            + page(0, samples: 0, Array("OpusTags".utf8) + [UInt8](repeating: 0, count: 60))
    }

    private let sound = [UInt8](repeating: 9, count: 400)

    @Test("the last page with a packet end counts the samples")
    func samples() throws {
        let whole = opus() + page(0, samples: 48_000, sound) + page(4, samples: 48_000 * 7 + 312, sound)
        #expect(try seconds("voice.ogg", whole) == 7)
        let unfinished = opus() + page(0, samples: 48_000 * 7 + 312, sound) + page(0, samples: .max, sound)
        #expect(try seconds("voice.ogg", unfinished) == 7)
        let nothing = opus() + page(4, samples: 312, sound)
        #expect(try seconds("voice.ogg", nothing) == nil)
        #expect(try seconds("voice.ogg", opus() + page(4, samples: .max, sound)) == nil)
        // A position that no recording reaches.
        #expect(try seconds("voice.ogg", opus() + page(4, samples: .max - 1, sound)) == nil)
    }

    @Test("false Ogg pages are ignored")
    func falsePages() throws {
        let good = opus() + page(0, samples: 48_000 * 7 + 312, sound)
        let lie = UInt64(48_000 * 200)
        let inside = page(4, samples: 48_000 * 9 + 312, Array("OggS".utf8) + [7, 7] + sound)
        #expect(try seconds("voice.ogg", good + inside) == 9)
        for (what, bytes) in [
            ("another stream", page(4, samples: lie, stream: 6, sound)),
            ("another version", page(4, samples: lie, version: 1, sound)),
            ("cut off", Array(page(4, samples: lie, sound).dropLast())),
            ("only its head", Array(page(4, samples: lie, sound).prefix(27))),
            ("less than its head", Array(page(4, samples: lie, sound).prefix(26))),
        ] { #expect(try seconds("voice.ogg", good + bytes) == 7, "\(what)") }
    }

    @Test("Ogg durations need the last 64 KiB and Opus")
    func long() throws {
        let filler = Array(repeating: page(0, samples: 1, [UInt8](repeating: 3, count: 60_000)), count: 3)
        let bytes = opus() + filler.flatMap { $0 } + page(4, samples: 48_000 * 61, sound)
        #expect(try seconds("voice.ogg", bytes) == 61)
        let vorbis = page(2, samples: 0, [1] + Array("vorbis".utf8) + [UInt8](repeating: 0, count: 23))
        #expect(try seconds("voice.ogg", vorbis + page(4, samples: 48_000 * 61, sound)) == nil)
        #expect(try seconds("voice.ogg", opus() + page(4, samples: 48_000 * 301, sound)) == nil)
    }

    // MARK: - Matroska

    /// An element with its length or an unknown length.
    private func element(_ id: [UInt8], _ content: [UInt8], isUnknown: Bool = false) -> [UInt8] {
        if isUnknown { return id + [0x01] + [UInt8](repeating: 0xFF, count: 7) + content }
        if content.count < 127 { return id + [0x80 | UInt8(content.count)] + content }
        var length: [UInt8] = []
        length.append(bigEndian: UInt64(content.count) | 1 << 56)
        return id + length + content
    }

    private func info(_ parts: [UInt8]..., isUnknown: Bool = false) -> [UInt8] {
        element([0x15, 0x49, 0xA9, 0x66], parts.flatMap { $0 }, isUnknown: isUnknown)
    }

    private func double(_ value: Double) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: value.bitPattern)
        return element([0x44, 0x89], bytes)
    }

    private func single(_ value: Float) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: value.bitPattern)
        return element([0x44, 0x89], bytes)
    }

    private func scale(_ bytes: [UInt8]) -> [UInt8] { element([0x2A, 0xD7, 0xB1], bytes) }

    private func matroska(_ parts: [UInt8]..., isUnknown: Bool = true) -> [UInt8] {
        element([0x1A, 0x45, 0xDF, 0xA3], [0x42, 0x86, 0x81, 1])
            + element([0x18, 0x53, 0x80, 0x67], parts.flatMap { $0 }, isUnknown: isUnknown)
    }

    @Test("Matroska durations of 4 and 8 bytes", arguments: [true, false])
    func floats(isUnknown: Bool) throws {
        func of(_ parts: [UInt8]...) throws -> Int? {
            try seconds("a.webm", matroska(info(parts.flatMap { $0 }), isUnknown: isUnknown))
        }
        #expect(try of(double(4200)) == 4)
        #expect(try of(single(90_500)) == 91)
        #expect(try of(scale([0x0F, 0x42, 0x40]), double(4200)) == 4)
        // After the duration, and in eight bytes.
        #expect(try of(double(3), scale([0, 0, 0, 0, 0x3B, 0x9A, 0xCA, 0x00])) == 3)
        // An empty element means the default.
        #expect(try of(scale([]), double(4200)) == 4)
    }

    @Test(
        "implausible Matroska durations are rejected",
        arguments: [.nan, .infinity, -.infinity, -4200, 0, -0.0, 1e300, 86_400_600, .leastNonzeroMagnitude]
            as [Double])
    func strange(value: Double) throws {
        let expected = value == .leastNonzeroMagnitude ? Int?.some(1) : nil
        let found = try seconds("a.mkv", matroska(info(double(value))))
        #expect(found == expected || found == nil)
        if value != .leastNonzeroMagnitude {
            #expect(try seconds("a.mkv", matroska(info(single(Float(value))))) == nil)
        }
    }

    @Test("invalid scales give no duration")
    func scales() throws {
        for bytes in [
            [0], [0, 0, 0], [UInt8](repeating: 0, count: 8), [1, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40],
        ] {
            #expect(try seconds("a.mkv", matroska(info(scale(bytes), double(4200)))) == nil, "\(bytes)")
        }
        let vast = matroska(info(scale([UInt8](repeating: 0xFF, count: 8)), double(4200)))
        #expect(try seconds("a.mkv", vast) == nil)
        for count in [0, 1, 3, 5, 7, 9, 10] {
            let strange = element([0x44, 0x89], [UInt8](repeating: 0x40, count: count))
            #expect(try seconds("a.mkv", matroska(info(strange))) == nil, "\(count) bytes are no number")
        }
    }

    @Test("truncated durations are rejected")
    func cut() throws {
        let bytes = matroska(info(scale([0x0F, 0x42, 0x40]), double(3_600_000)))
        #expect(try seconds("a.mkv", bytes) == 3600)
        for length in 0..<bytes.count {
            #expect(try seconds("a.mkv", Array(bytes.prefix(length))) == nil, "after \(length) bytes")
        }
        // Also at the limit of 64 KiB.
        let before = element([0xEC], [UInt8](repeating: 0, count: 65_536 - 60))
        let length = matroska(before, info(double(3_600_000))).count
        for shift in 0..<40 {
            let filler = element([0xEC], [UInt8](repeating: 0, count: 65_536 - 60 + shift))
            let found = try seconds("a.mkv", matroska(filler, info(double(3_600_000))))
            #expect(found == nil || found == 3600, "\(length + shift) bytes")
        }
    }

    @Test("earlier elements are skipped")
    func order() throws {
        let void = element([0xEC], [UInt8](repeating: 0x44, count: 300))
        let seek = element([0x11, 0x4D, 0x9B, 0x74], [0x4D, 0xBB, 0x80])
        #expect(try seconds("a.mkv", matroska(void, seek, void, info(double(9000)))) == 9)
        #expect(try seconds("a.mkv", matroska(info(void, double(9000), isUnknown: true))) == 9)
        // A cluster of unknown length contains all later elements.
        let cluster = element([0x1F, 0x43, 0xB6, 0x75], info(double(9000)), isUnknown: true)
        #expect(try seconds("a.mkv", matroska(cluster)) == nil)
        // The first one counts.
        #expect(try seconds("a.mkv", matroska(info(double(9000), double(20_000)))) == 9)
        #expect(try seconds("a.mkv", matroska(element([0x16, 0x54, 0xAE, 0x6B], double(9000)))) == nil)
        #expect(try seconds("a.webm", Array("RIFF".utf8) + matroska(info(double(9000)))) == nil)
    }

    @Test("mutated containers give plausible durations")
    func mutated() throws {
        var generator = SeededGenerator(state: 20_261)
        let good: [(String, [UInt8])] = [
            ("a.mp4", movie(header(1, scale: 1000, duration: 5000), fragments(0, 61_000))),
            ("voice.ogg", opus() + page(4, samples: 48_000 * 7, sound)),
            ("a.webm", matroska(info(scale([0x0F, 0x42, 0x40]), double(4200)))),
        ]
        for round in 0..<6000 {
            var (name, bytes) = good[round % good.count]
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0...3, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
                case 2 where bytes.count > 1: bytes.remove(at: place)
                default: bytes.insert(bytes[place], at: place)
                }
            }
            let size = round % 5 == 0 ? UInt64.max : nil
            if let seconds = try seconds(name, bytes, size: size) { #expect((1...86_400).contains(seconds)) }
        }
    }
}
