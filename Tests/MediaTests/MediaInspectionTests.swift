import Base
import ChatCore
import TestSupport
import Testing

@testable import Media

/// The form of sent files.
@Suite struct MediaInspectionTests {
    private func kind(_ name: String, _ bytes: [UInt8]) throws -> MessageContent.Kind {
        try MediaInspection.kind(name: Array(name.utf8), size: UInt64(bytes.count)) { offset, count in
            offset < UInt64(bytes.count) ? Array(bytes[Int(offset)...].prefix(count)) : []
        }
    }

    private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0]

    @Test(arguments: ["a.JPG", "a.jfif", "a", "a.png", "a.bin", "a.mp4", "voice.m4a", "a."])
    func picturesAreRecognisedByContent(name: String) throws {
        #expect(try kind(name, Self.jpeg) == .image(preview: ""))
        #expect(try kind(name, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == .image(preview: ""))
        #expect(try kind(name, Array("GIF89a".utf8)) == .image(preview: ""))
        #expect(try kind(name, Array("RIFF....WEBPVP8 ".utf8)) == .image(preview: ""))
    }

    @Test func pictureNamesWithoutContentAreFiles() throws {
        for name in ["a.jpg", "a.png", "a.gif", "a.webp", "a.jfif", "a.svg"] {
            for text in ["", "not a picture", "GIF8 is a format", "<svg/>", "RIFF....WAVEfmt "] {
                #expect(try kind(name, Array(text.utf8)) == .file, "\(name): \(text)")
            }
        }
    }

    private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(content.count + 8))
        return bytes + Array(type.utf8) + content
    }

    private func movie(scale: UInt32, duration: UInt32, tail: Bool) -> [UInt8] {
        var header: [UInt8] = [0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
        header.append(bigEndian: scale)
        header.append(bigEndian: duration)
        header += [UInt8](repeating: 0, count: 80)
        let moov = box("moov", box("iods", [1, 2, 3]) + box("mvhd", header))
        let data = box("mdat", [UInt8](repeating: 7, count: 5000))
        return box("ftyp", Array("isom0000".utf8)) + (tail ? data + moov : moov + data)
    }

    @Test(arguments: [true, false]) func videosCarryTheirDuration(atTheEnd: Bool) throws {
        let bytes = movie(scale: 600, duration: 600 * 12 + 310, tail: atTheEnd)
        #expect(try kind("film.mp4", bytes) == .video(preview: "", seconds: 13))
        #expect(try kind("film.mp4", Array(bytes.dropLast(bytes.count - 100))) == .file)
    }

    @Test func recordingsAreRecognisedByName() throws {
        let bytes = movie(scale: 1000, duration: 7400, tail: true)
        #expect(try kind("voice_20260101.m4a", bytes) == .voice(seconds: 7))
        #expect(try kind("Recording 3.m4a", bytes) == .voice(seconds: 7))
        #expect(try kind("New Recording 3.m4a", bytes) == .voice(seconds: 7))
        #expect(try kind("Neue Aufnahme.m4a", bytes) == .voice(seconds: 7))
        #expect(try kind("song.m4a", bytes) == .file)
        #expect(try kind("voice.m4a", movie(scale: 1, duration: 301, tail: false)) == .file)
        #expect(try kind("voice.mp3", bytes) == .file)
    }

    /// The tags of Voice Memos.
    private func tagged(_ encoder: String) -> [UInt8] {
        let data = box("data", [0, 0, 0, 1, 0, 0, 0, 0] + Array(encoder.utf8))
        var tag = box("too.", data)
        tag.replaceSubrange(4..<8, with: [0xA9, 0x74, 0x6F, 0x6F])
        let user = box("udta", box("meta", [0, 0, 0, 0] + box("ilst", tag)))
        var bytes = movie(scale: 1000, duration: 7400, tail: true)
        let place = bytes.count - movieLength
        let moov = box("moov", Array(bytes[(place + 8)...]) + user)
        bytes.replaceSubrange(place..., with: moov)
        return bytes
    }

    /// The length of the `moov` box in `movie`.
    private var movieLength: Int { 8 + 11 + 8 + 100 }

    @Test func recordingsAreRecognisedByTheirRecorder() throws {
        let memo = tagged("com.apple.VoiceMemos (iPhone Version 17.1 (Build 21B74))")
        #expect(try kind("Main Street 2.m4a", memo) == .voice(seconds: 7))
        #expect(try kind("Main Street 2.m4a", tagged("Lavf60.3.100")) == .file)
        for length in 0..<memo.count {
            let part = Array(memo.prefix(length))
            #expect(try kind("Main Street 2.m4a", part) == .file)
        }
    }

    @Test func oggRecordingsHaveADuration() throws {
        var first = Array("OggS".utf8) + [0, 2] + [UInt8](repeating: 0, count: 8)
        first += [UInt8](repeating: 0, count: 13) + [19] + Array("OpusHead".utf8) + [1, 1, 0x38, 0x01]
        first += [UInt8](repeating: 0, count: 60)
        let samples = UInt64(48_000 * 5 + 312)
        var last = Array("OggS".utf8) + [0, 4]
        last += (0..<8).map { UInt8(truncatingIfNeeded: samples >> (8 * UInt64($0))) }
        last += [UInt8](repeating: 0, count: 20)
        let bytes = first + [UInt8](repeating: 9, count: 70_000) + last
        #expect(try kind("voice.ogg", bytes) == .voice(seconds: 5))
    }

    @Test func webmVideosHaveADuration() throws {
        var duration: [UInt8] = [0x44, 0x89, 0x88]
        duration.append(bigEndian: (4_200.0 as Double).bitPattern)
        let scale: [UInt8] = [0x2A, 0xD7, 0xB1, 0x83, 0x0F, 0x42, 0x40]
        let info: [UInt8] =
            [0x15, 0x49, 0xA9, 0x66, 0x80 | UInt8(scale.count + duration.count)] + scale + duration
        let segment: [UInt8] = [0x18, 0x53, 0x80, 0x67, 0x01, 255, 255, 255, 255, 255, 255, 255] + info
        let bytes: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3, 0x84, 1, 2, 3, 4] + segment
        #expect(try kind("clip.webm", bytes) == .video(preview: "", seconds: 4))
    }

    @Test func brokenContainersAreFiles() throws {
        var generator = SeededGenerator(state: 7)
        let movies = [
            movie(scale: 600, duration: 7200, tail: true), movie(scale: 1, duration: 9, tail: false),
        ]
        for round in 0..<4000 {
            var bytes = movies[round % 2]
            for _ in 0..<Int.random(in: 1..<20, using: &generator) {
                bytes[Int.random(in: 0..<min(bytes.count, 200), using: &generator)] =
                    UInt8.random(in: 0...255, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
            for name in ["a.mp4", "voice.ogg", "a.mkv", "voice.m4a"] {
                if case .video(_, let seconds) = try kind(name, bytes) { #expect(seconds > 0) }
            }
        }
        for round in 0..<4000 {
            var bytes = [UInt8](repeating: 0, count: 120)
            for index in bytes.indices { bytes[index] = UInt8.random(in: 0...255, using: &generator) }
            bytes.replaceSubrange(
                0..<4, with: round % 2 == 0 ? [0x1A, 0x45, 0xDF, 0xA3] : Array("OggS".utf8))
            if round % 2 == 1 { bytes.replaceSubrange(28..<36, with: Array("OpusHead".utf8)) }
            _ = try kind(round % 2 == 0 ? "a.mkv" : "voice.ogg", bytes)
        }
    }
}
