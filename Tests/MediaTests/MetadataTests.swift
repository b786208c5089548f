import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Media

/// `--strip-metadata images` with the real exiftool, which also writes the metadata.
@Suite("Removing metadata")
struct MetadataTests {
    /// Part of every text written into a picture.
    private static let mark = "SECRETMARK"

    private static func remover(_ timeout: Duration = .seconds(60)) throws -> MetadataRemover {
        try #require(MetadataRemover(searchPath: ["/usr/bin"], timeout: timeout), "exiftool is needed")
    }

    /// A picture with marks in EXIF with place and maker, XMP, IPTC, comments, an embedded thumbnail and a profile.
    private static func tellingPicture(_ name: String, in studio: Studio) async throws -> [UInt8] {
        try await studio.draw("testsrc2=size=640x480", name)
        try await studio.draw("testsrc2=size=64x48", "small.jpg")
        let written = try await Shell.run(
            "exiftool",
            [
                "-q", "-q", "-overwrite_original", "-m", "-GPSLatitude=48.137", "-GPSLatitudeRef=N",
                "-Make=\(mark)", "-Artist=\(mark)", "-UserComment=\(mark)", "-Orientation#=6",
                "-XMP:Creator=\(mark)", "-XMP:Location=\(mark)",
            ]
                + (name.hasSuffix("jpg")
                    ? ["-Comment=\(mark)", "-IPTC:Caption-Abstract=\(mark)", "-ThumbnailImage<=small.jpg"]
                    : [])
                + (name.hasSuffix("png") ? ["-PNG:Comment=\(mark)", "-PNG:Author=\(mark)"] : []) + [name],
            folder: studio.folder.path)
        try #require(written.succeeded, "\(written.errors)")
        return try studio.folder.read(name)
    }

    private static func has(_ mark: String, _ bytes: [UInt8]) -> Bool {
        bytes.firstRange(of: Array(mark.utf8)) != nil
    }

    /// Returns the plaintext that would be sent.
    private static func content(of message: ComposedMessage) throws -> [UInt8] {
        var bytes: [UInt8] = []
        let file = try OpenFile(message.source.path, flags: O_RDONLY)
        try CryptoFileReader(file: file, arguments: try #require(message.source.arguments)).decrypt {
            bytes += $0
        }
        #expect(UInt64(bytes.count) == message.size)
        return bytes
    }

    private static func values(of name: String, _ tags: [String], in studio: Studio) async throws -> String {
        try await Shell.run(
            "exiftool", ["-s", "-s", "-S", "-n"] + tags + [name], folder: studio.folder.path
        ).output
    }

    @Test(
        "metadata is removed; pixels and orientation stay",
        arguments: ["a.jpg", "a.png", "a.webp"])
    func removed(name: String) async throws {
        let studio = try Studio()
        let before = try await Self.tellingPicture(name, in: studio)
        #expect(Self.has(Self.mark, before))
        let message = try studio.message(before, caption: "as it was")
        let cleaned = try await Self.remover().cleaned(message)
        #expect(cleaned.source.path != message.source.path)
        #expect(cleaned.source.arguments != message.source.arguments, "a key is used once")
        #expect((cleaned.id, cleaned.fileName) == (message.id, message.fileName))
        #expect(cleaned.content == message.content)
        let after = try Self.content(of: cleaned)
        #expect(!Self.has(Self.mark, after))
        try studio.folder.write(after, to: "after-" + name)
        let tags = ["-gps:all", "-xmp:all", "-iptc:all", "-make", "-artist", "-comment", "-thumbnailimage"]
        #expect(try await Self.values(of: "after-" + name, tags, in: studio) == "")
        #expect(try await Self.values(of: "after-" + name, ["-orientation"], in: studio) == "6\n")
        var pixels: [[UInt8]] = []
        for file in [name, "after-" + name] {
            pixels.append(
                try await studio.make(
                    "-noautorotate", "-i", file, "-f", "rawvideo", "-pix_fmt", "rgb24", "-bitexact", "raw"))
        }
        #expect(pixels[0] == pixels[1] && pixels[0].count == 640 * 480 * 3)
        #expect(try Self.content(of: message) == before, "the staged file is unchanged")
    }

    @Test(
        "trailing bytes and unknown segments are removed",
        arguments: ["a.jpg", "a.png"])
    func trailer(name: String) async throws {
        let studio = try Studio()
        var bytes = try await studio.draw("testsrc2=size=64x48", name)
        if name == "a.jpg" {
            let segment = Array(Self.mark.utf8)
            bytes.insert(contentsOf: [0xFF, 0xE7, 0, UInt8(segment.count + 2)] + segment, at: 2)
        }
        bytes += Array(Self.mark.utf8)
        let cleaned = try await Self.remover().cleaned(try studio.message(bytes))
        #expect(!Self.has(Self.mark, try Self.content(of: cleaned)))
    }

    @Test("the colour profile is kept")
    func profile() async throws {
        let studio = try Studio()
        try await studio.draw("testsrc2=size=64x48", "a.jpg")
        // A header (ICC.1, 7.2) without tags.
        var profile = [UInt8](repeating: 0, count: 132)
        for (place, text) in [(4, "lcms"), (12, "mntrRGB XYZ "), (36, "acsp")] {
            profile.replaceSubrange(place..<place + text.utf8.count, with: Array(text.utf8))
        }
        (profile[3], profile[8]) = (132, 2)
        try studio.folder.write(profile, to: "a.icc")
        let written = try await Shell.run(
            "exiftool",
            ["-q", "-overwrite_original", "-m", "-icc_profile<=a.icc", "-Make=\(Self.mark)", "a.jpg"],
            folder: studio.folder.path)
        try #require(written.succeeded, "\(written.errors)")
        let cleaned = try await Self.remover().cleaned(try studio.message(try studio.folder.read("a.jpg")))
        try studio.folder.write(try Self.content(of: cleaned), to: "b.jpg")
        let kept = try await Shell.script(
            "exiftool -icc_profile -b b.jpg | cmp - a.icc", folder: studio.folder.path)
        #expect(kept.succeeded, "\(kept.output)\(kept.errors)")
    }

    @Test("files without metadata are sent unchanged")
    func unchanged() async throws {
        let studio = try Studio()
        let plain = try await Self.remover().cleaned(
            try studio.message(try await studio.draw("testsrc2=size=64x48", "a.png")))
        let once = try Self.content(of: plain)
        for bytes in [once, Array("just words".utf8), [], Array("GIF89a".utf8) + [0, 0]] {
            let message = try studio.message(bytes, .file)
            #expect(try await Self.remover().cleaned(message).source.path == message.source.path)
        }
    }

    @Test("misnamed pictures are cleaned too")
    func misnamed() async throws {
        let studio = try Studio()
        let message = try studio.message(try await Self.tellingPicture("a.jpg", in: studio), .file)
        let cleaned = try await Self.remover().cleaned(message)
        #expect(!Self.has(Self.mark, try Self.content(of: cleaned)))
    }

    @Test("uncleanable pictures are refused")
    func broken() async throws {
        let studio = try Studio()
        let whole = try await Self.tellingPicture("a.jpg", in: studio)
        for bytes in [Array(whole.prefix(700)), [0xFF, 0xD8, 0xFF] + Array(Self.mark.utf8)] {
            let error = await #expect(throws: ChatError.self) {
                try await Self.remover().cleaned(try studio.message(bytes))
            }
            #expect(error?.code == .sendingRefused)
            #expect(error?.sentence.contains("metadata") == true)
        }
        #expect(try studio.folder.names(in: "").allSatisfy { !$0.hasPrefix("send-") })
    }

    @Test("hanging and faulty programs are errors")
    func hostile() async throws {
        let studio = try Studio()
        let message = try studio.message(try await Self.tellingPicture("a.jpg", in: studio))
        let scripts = [
            ("#!/bin/sh\nwhile :; do :; done", ChatErrorCode.file(.timedOut)),
            ("#!/bin/sh\necho no picture", .sendingRefused), ("#!/bin/sh\nkill -9 $$", .sendingRefused),
        ]
        for (number, (script, code)) in scripts.enumerated() {
            let path = try studio.script(script)
            let folder = try studio.folder.makeFolder("bin-\(number)")
            rename(path, folder + "/exiftool")
            let remover = try #require(MetadataRemover(searchPath: [folder], timeout: .seconds(2)))
            let error = await #expect(throws: ChatError.self) { try await remover.cleaned(message) }
            #expect(error?.code == code)
        }
        #expect(MetadataRemover(searchPath: [studio.folder.path]) == nil)
    }

    @Test("too large pictures are refused")
    func large() async throws {
        let studio = try Studio()
        var message = try studio.message([0xFF, 0xD8, 0xFF, 0xE0])
        message.size = MetadataRemover.maxPictureSize + 1
        let error = await #expect(throws: ChatError.self) { try await Self.remover().cleaned(message) }
        #expect(error?.code == .sendingRefused && error?.sentence.contains("64 MiB") == true)
    }
}
