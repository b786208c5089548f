import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport

@testable import Media

/// Creates pictures and videos with ffmpeg, stages them as message files, and decodes previews.
final class Studio: Sendable {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs ffmpeg in the folder. The last argument is the created file.
    @discardableResult
    func make(_ arguments: String...) async throws -> [UInt8] {
        let outcome = try await Shell.run(
            "ffmpeg", ["-nostdin", "-v", "error", "-y"] + arguments, folder: folder.path)
        guard outcome.succeeded else { throw WaitedInVain("ffmpeg: \(outcome.errors)") }
        return try folder.read(arguments[arguments.count - 1])
    }

    /// Draws one picture with a filter graph of ffmpeg.
    @discardableResult
    func draw(_ graph: String, _ name: String) async throws -> [UInt8] {
        try await make("-f", "lavfi", "-i", graph, "-frames:v", "1", name)
    }

    /// Returns the output of a Python program.
    func python(_ program: String) async throws -> [UInt8] {
        let outcome = try await Shell.run("python3", ["-c", program, folder.path("made")])
        guard outcome.succeeded else { throw WaitedInVain("python3: \(outcome.errors)") }
        return try folder.read("made")
    }

    /// A replacement for the decoding program.
    func script(_ text: String) throws -> String {
        let path = try folder.write(Array(text.utf8), to: "script")
        chmod(path, 0o700)
        return path
    }

    /// A message with a staged CryptoFile, as in the outbox.
    func message(
        _ bytes: [UInt8], _ kind: MessageContent.Kind = .image(preview: ""), caption: String = ""
    ) throws -> ComposedMessage {
        let arguments = CryptoFile.freshArguments()
        let path = folder.path("staged")
        unlink(path)
        let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL)
        let writer = try CryptoFileWriter(file: file, arguments: arguments)
        try bytes.withUnsafeBytes { try writer.append($0) }
        try writer.finish()
        return ComposedMessage(
            id: "1", fileName: "a", size: UInt64(bytes.count),
            source: FileSourceLocation(path: path, arguments: arguments),
            content: MessageContent(kind: kind, text: caption))
    }

    /// A maker with the tested program unless another is given.
    func maker(
        _ program: String = ChatFSProcess.path, searchPath: [String] = ["/usr/bin"],
        timeout: Duration = .seconds(30)
    ) -> PreviewMaker {
        PreviewMaker(program: program, searchPath: searchPath, timeout: timeout)
    }

    func kind(of bytes: [UInt8]) async throws -> MessageContent.Kind {
        await maker().completed(try message(bytes)).content.kind
    }

    /// Returns the preview of a picture.
    func preview(of bytes: [UInt8]) async throws -> Pixels {
        guard case .image(let text) = try await kind(of: bytes) else {
            throw WaitedInVain("the picture was taken for broken")
        }
        return try await look(at: text)
    }

    /// Decodes a data URI with ffmpeg, which fails for other formats than JPEG.
    func look(at text: String) async throws -> Pixels {
        guard text.hasPrefix("data:image/jpg;base64,"), text.count <= FilePolicy.maxPreviewCharacters
        else { throw WaitedInVain("no preview: \(text.prefix(40)), \(text.count) characters") }
        let digits = text.dropFirst(22).replacing("+", with: "-").replacing("/", with: "_")
        guard let jpeg = Base64URL.decode(digits), PictureFormat(start: jpeg) == .jpeg else {
            throw WaitedInVain("the preview is no JPEG")
        }
        try folder.write(jpeg, to: "preview.jpg")
        let rows = try await make(
            "-i", "preview.jpg", "-f", "image2pipe", "-c:v", "ppm", "preview.ppm")
        // P6, width and height, 255, each on a line.
        let lines = rows.split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
        let size = String(decoding: lines[1], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        return Pixels(width: size[0], height: size[1], bytes: Array(lines[3]))
    }
}

struct Pixels: CustomStringConvertible {
    var width: Int
    var height: Int
    var bytes: [UInt8]

    var description: String { "\(width) by \(height) pixels" }

    /// Red, green and blue at x and y in percent of width and height.
    func colour(_ x: Int, _ y: Int) -> [Int] {
        let start = (height * y / 100 * width + width * x / 100) * 3
        return bytes[start..<start + 3].map { Int($0) }
    }

    /// Returns whether the colour is similar, because JPEG is lossy.
    func isLike(_ wanted: [Int], _ x: Int, _ y: Int) -> Bool {
        zip(colour(x, y), wanted).allSatisfy { abs($0 - $1) < 40 }
    }
}

let (red, blue, white) = ([254, 0, 0], [0, 0, 254], [255, 255, 255])
