import Base
import Glibc
import Posix

/// The first picture of a video, taken by `ffmpeg` where it is installed.
///
/// It gets the video in a file in memory (players must jump about in it), of which only what the first
/// picture needs is filled: the start of the file, the index, the start of the pictures. It can read what
/// the user can, and neither write nor reach the network (`Confinement`).
struct VideoFrame: Sendable {
    /// Path of ffmpeg, or nil.
    let program: String?
    let timeout: Duration

    /// It maps about 200 MB of libraries.
    private static let confinement = Confinement(maxMemory: 1 << 30, maxSeconds: 10)
    private static let maxFrameBytes = 4 << 20
    private static let startBytes: UInt64 = 4 << 20
    private static let maxIndexBytes: UInt64 = 8 << 20

    /// As PNG, at most 640 pixels wide and high; nil when there is none to be had.
    func png(size: UInt64, _ content: @escaping SharedContent) async -> [UInt8]? {
        guard let program,
            let video = try? await ThreadPool.shared.run({ try Self.inMemory(size, content) })
        else { return nil }
        var settings = ChildProcess.Settings(program, Self.arguments(container: video.container))
        settings.input = .file(video.file)
        settings.output = .pipe
        settings.errors = .null
        settings.confinement = Self.confinement
        let process = ConfinedProgram(
            settings: settings, timeout: timeout, maxOutput: Self.maxFrameBytes)
        guard case .ended(0, let frame) = await process.run(feed: { _ in }), !frame.isEmpty else {
            return nil
        }
        return frame
    }

    private static func arguments(container: String) -> [String] {
        [
            "-nostdin", "-loglevel", "quiet", "-threads", "1",
            // The container is said and nothing but this file opened, so that no list of other files is followed.
            "-protocol_whitelist", "file", "-f", container, "-i", "/dev/stdin",
            "-map", "0:v:0", "-frames:v", "1",
            "-vf", "scale=min(640\\,iw):min(640\\,ih):force_original_aspect_ratio=decrease",
            "-f", "image2pipe", "-c:v", "png", "-threads", "1", "pipe:1",
        ]
    }

    private static func inMemory(
        _ size: UInt64, _ content: MediaContent
    ) throws -> (container: String, file: OpenFile)? {
        let file = try OpenFile.inMemory()
        try file.truncate(to: size)
        func copy(_ range: Range<UInt64>) throws {
            var position = range.lowerBound
            while position < min(range.upperBound, size) {
                let piece = try content(position, Int(min(256 << 10, range.upperBound - position)))
                if piece.isEmpty { return }
                try file.write(piece, at: position)
                position += UInt64(piece.count)
            }
        }
        try copy(0..<startBytes)
        guard try content(4, 4) == Array("ftyp".utf8) else { return ("matroska", file) }
        for box in ["moov", "mdat"] {
            guard let range = try MovieFile.box(box, in: 0..<size, content) else { return nil }
            let maxBytes = box == "moov" ? maxIndexBytes : startBytes
            // With its header, of at most 16 bytes.
            let start = range.lowerBound - min(range.lowerBound, 16)
            try copy(start..<min(range.upperBound, range.lowerBound + maxBytes))
        }
        return ("mov", file)
    }
}
