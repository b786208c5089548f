import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport

@testable import Media

/// Makes pictures and videos with ffmpeg, stages them as a message's file, and looks at previews.
final class Studio: Sendable {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs ffmpeg in the folder: its last argument is the file that it makes.
    @discardableResult
    func make(_ arguments: String...) async throws -> [UInt8] {
        let outcome = try await Shell.run(
            "ffmpeg", ["-nostdin", "-v", "error", "-y"] + arguments, folder: folder.path)
        guard outcome.succeeded else { throw WaitedInVain("ffmpeg: \(outcome.errors)") }
        return try folder.read(arguments[arguments.count - 1])
    }

    /// One picture of a filter graph of ffmpeg.
    @discardableResult
    func draw(_ graph: String, _ name: String) async throws -> [UInt8] {
        try await make("-f", "lavfi", "-i", graph, "-frames:v", "1", name)
    }

    /// The output of a program of Python.
    func python(_ program: String) async throws -> [UInt8] {
        let outcome = try await Shell.run("python3", ["-c", program, folder.path("made")])
        guard outcome.succeeded else { throw WaitedInVain("python3: \(outcome.errors)") }
        return try folder.read("made")
    }

    /// A program in the place of the one that decodes.
    func script(_ text: String) throws -> String {
        let path = try folder.write(Array(text.utf8), to: "script")
        chmod(path, 0o700)
        return path
    }

    /// As the outbox stages it: a CryptoFile.
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

    /// Of the program that is tested, unless another is named.
    func maker(
        _ program: String = ChatFSProcess.path, searchPath: [String] = ["/usr/bin"],
        timeout: Duration = .seconds(30)
    ) -> PreviewMaker {
        PreviewMaker(program: program, searchPath: searchPath, timeout: timeout)
    }

    func kind(of bytes: [UInt8]) async throws -> MessageContent.Kind {
        await maker().completed(try message(bytes)).content.kind
    }

    /// The preview that a picture gets.
    func preview(of bytes: [UInt8]) async throws -> Pixels {
        guard case .image(let text) = try await kind(of: bytes) else {
            throw WaitedInVain("the picture was taken for broken")
        }
        return try await look(at: text)
    }

    /// Decodes a data URI with ffmpeg, which fails when it is no JPEG.
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

    /// Red, green, blue; x and y in hundredths of the width and height.
    func colour(_ x: Int, _ y: Int) -> [Int] {
        let start = (height * y / 100 * width + width * x / 100) * 3
        return bytes[start..<start + 3].map { Int($0) }
    }

    /// Whether it is about that colour: JPEG is not exact.
    func isLike(_ wanted: [Int], _ x: Int, _ y: Int) -> Bool {
        zip(colour(x, y), wanted).allSatisfy { abs($0 - $1) < 40 }
    }
}

let (red, blue, white) = ([254, 0, 0], [0, 0, 254], [255, 255, 255])
