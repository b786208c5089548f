import Base
import Glibc
import Posix

/// Extracts the first picture of a video with `ffmpeg`, if installed.
///
/// ffmpeg gets the video as a file in memory, because players seek. Only the parts needed for the first picture are
/// filled: the start of the file, the index and the start of the picture data. It can read the user's files, but
/// neither write nor use the network (`Confinement`).
struct VideoFrame: Sendable {
    /// The path of ffmpeg, or nil.
    let program: String?
    let timeout: Duration

    /// ffmpeg maps about 200 MB of libraries.
    private static let confinement = Confinement(maxMemory: 1 << 30, maxSeconds: 10)
    private static let maxFrameBytes = 4 << 20
    private static let startBytes: UInt64 = 4 << 20
    private static let maxIndexBytes: UInt64 = 8 << 20

    /// Returns a PNG of at most 640 by 640 pixels, or nil if there is none.
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
            // Fix the container and allow only this file, so that playlists cannot open other files.
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
            // Including the box header of at most 16 bytes.
            let start = range.lowerBound - min(range.lowerBound, 16)
            try copy(start..<min(range.upperBound, range.lowerBound + maxBytes))
        }
        return ("mov", file)
    }
}
