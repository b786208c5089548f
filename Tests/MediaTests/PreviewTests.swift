import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Media

/// The previews that recipients see before they have the file.
@Suite struct PreviewTests {
    /// The left half is red, the right half blue.
    static func halves(_ width: Int, _ height: Int) -> String {
        "color=red:size=\(width)x\(height),drawbox=x=iw/2:w=iw/2:h=ih:color=blue:t=fill"
    }

    @Test(arguments: ["a.png", "a.jpg", "a.gif", "a.webp"])
    func everyFormatHasAPreview(name: String) async throws {
        let studio = try Studio()
        let bytes = try await studio.draw(Self.halves(800, 400), name)
        let preview = try await studio.preview(of: bytes)
        #expect((preview.width, preview.height) == (320, 160))
        #expect(preview.isLike(red, 25, 50))
        #expect(preview.isLike(blue, 75, 50))
    }

    @Test func detailedPhotoFitsIntoAMessage() async throws {
        let studio = try Studio()
        let noise = "testsrc2=size=1600x1200,noise=alls=100:allf=t"
        let bytes = try await studio.draw(noise, "a.jpg")
        let message = try studio.message(bytes)
        guard case .image(let short) = await studio.maker().completed(message).content.kind else {
            throw WaitedInVain("no image")
        }
        #expect(try await studio.look(at: short).width >= 128)
        // A long caption takes space from the preview.
        let long = try studio.message(bytes, caption: String(repeating: "word ", count: 1_500))
        guard case .image(let shorter) = await studio.maker().completed(long).content.kind else {
            throw WaitedInVain("no image")
        }
        #expect(shorter.count <= 14_000 - 6_500)
        #expect(try await studio.look(at: shorter).width >= 64)
    }

    @Test func orientationIsApplied() async throws {
        let studio = try Studio()
        let jpeg = try await studio.draw(Self.halves(1200, 600), "a.jpg")
        // Exif orientation 6 (rotate by 90 degrees) in big-endian TIFF.
        let tiff: [UInt8] =
            Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
        let exif = Array("Exif".utf8) + [0, 0] + tiff
        let turned = jpeg[..<2] + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + jpeg[2...]
        let preview = try await studio.preview(of: Array(turned))
        #expect((preview.width, preview.height) == (160, 320))
        #expect(preview.isLike(red, 50, 25))
        #expect(preview.isLike(blue, 50, 75))
    }

    @Test func transparentAreasBecomeWhite() async throws {
        let studio = try Studio()
        let bytes = try await studio.draw("color=black@0:size=64x64,format=rgba", "a.png")
        let preview = try await studio.preview(of: bytes)
        #expect((preview.width, preview.height) == (64, 64))
        #expect(preview.isLike(white, 50, 50))
    }

    @Test func animationsShowTheirFirstPicture() async throws {
        let studio = try Studio()
        let bytes = try await studio.make(
            "-f", "lavfi", "-i", "color=red:size=100x100:rate=2:duration=1", "-f", "lavfi", "-i",
            "color=blue:size=100x100:rate=2:duration=3", "-filter_complex", "[0][1]concat", "a.gif")
        #expect(try await studio.preview(of: bytes).isLike(red, 50, 50))
    }

    @Test(arguments: [
        ("a.mp4", []), ("fast.mp4", ["-movflags", "+faststart"]), ("a.mov", []), ("a.mkv", []),
    ])
    func videosShowTheirFirstPicture(name: String, options: [String]) async throws {
        let studio = try Studio()
        let outcome = try await Shell.run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-f", "lavfi", "-i", Self.halves(640, 320) + ",trim=end=3",
                "-c:v", "mpeg4",
            ] + options + [name], folder: studio.folder.path)
        #expect(outcome.succeeded, "\(outcome.errors)")
        let message = try studio.message(
            try studio.folder.read(name), .video(preview: "", seconds: 3), caption: "look")
        let completed = await studio.maker().completed(message)
        guard case .video(let text, seconds: 3) = completed.content.kind else {
            throw WaitedInVain("no video")
        }
        #expect(completed.content.text == "look")
        let preview = try await studio.look(at: text)
        #expect((preview.width, preview.height) == (320, 160))
        #expect(preview.isLike(red, 25, 50))
        #expect(preview.isLike(blue, 75, 50))
    }

    /// ffmpeg gets only the needed parts: the first 4 MiB and the index at the end.
    @Test func longVideoWithItsIndexAtTheEndHasAPreview() async throws {
        let studio = try Studio()
        let bytes = try await studio.make(
            "-f", "lavfi", "-i", Self.halves(640, 320) + ",noise=alls=60:allf=t,trim=end=4", "-c:v", "mpeg4",
            "-q:v", "1", "a.mp4")
        #expect(bytes.count > 8 << 20)
        let message = try studio.message(bytes, .video(preview: "", seconds: 4))
        guard case .video(let text, _) = await studio.maker().completed(message).content.kind else {
            throw WaitedInVain("no video")
        }
        #expect(try await studio.look(at: text).width == 320)
    }

    @Test func missingFFmpegGivesAGreyPreview() async throws {
        let studio = try Studio()
        let message = try studio.message([1, 2, 3], .video(preview: "", seconds: 3))
        let completed = await studio.maker(searchPath: []).completed(message)
        guard case .video(let text, seconds: 3) = completed.content.kind else {
            throw WaitedInVain("no video")
        }
        let preview = try await studio.look(at: text)
        #expect((preview.width, preview.height) == (160, 120))
        #expect(preview.isLike([96, 96, 96], 5, 5))
        #expect(preview.isLike([208, 208, 208], 45, 50))
    }

    @Test func otherKindsAreUnchanged() async throws {
        let studio = try Studio()
        for kind in [MessageContent.Kind.file, .voice(seconds: 3), .image(preview: "data:,made")] {
            let message = try studio.message([1], kind, caption: "c")
            #expect(await studio.maker("/nowhere").completed(message).content == message.content)
        }
    }

    @Test func equipmentReportsInstalledPrograms() async throws {
        let studio = try Studio()
        let all = await studio.maker().equipment()
        #expect(all.decodesPictures && all.decodesWebP && all.decodesVideos)
        let none = await studio.maker("/nowhere", searchPath: []).equipment()
        #expect(!none.decodesPictures && !none.decodesWebP && !none.decodesVideos)
    }
}
