import Base
import ChatCore
import Posix

/// Adds previews to messages with pictures and videos on sending.
///
/// Decrypts in memory and decodes in separate confined processes (`PictureProcess`, `VideoFrame`). Neither content nor
/// previews reach a disk.
public struct PreviewMaker: Sendable {
    private let pictures: PictureDecoder
    private let videos: VideoFrame

    /// In bytes. Larger pictures are not decoded and are sent as files.
    static let maxPictureSize: UInt64 = 64 << 20
    private static let prefix = "data:image/jpg;base64,"

    /// - Parameters:
    ///   - program: A path of `chatfs` itself.
    ///   - searchPath: The folders to search for `ffmpeg`.
    ///   - timeout: The maximum time for one file on a busy machine.
    public init(
        program: String = "/proc/self/exe", searchPath: [String] = ProgramSearch.folders(),
        timeout: Duration = .seconds(30)
    ) {
        pictures = PictureDecoder(program: program, timeout: timeout)
        videos = VideoFrame(
            program: ProgramSearch.path(of: "ffmpeg", in: searchPath), timeout: timeout)
    }

    /// Returns the message with a preview. An undecodable picture becomes a plain file. If a library is missing, the
    /// preview is grey. Takes milliseconds up to `timeout`; never blocks its thread.
    public func completed(_ message: ComposedMessage) async -> ComposedMessage {
        var message = message
        let maxBytes = Self.maxBytes(captionBytes: message.content.text.utf8.count)
        switch message.content.kind {
        case .image(preview: ""):
            let outcome = await picture(of: message, maxBytes: maxBytes)
            switch outcome {
            case .preview(let jpeg): message.content.kind = .image(preview: Self.text(jpeg))
            case .broken: message.content.kind = .file
            case .unavailable:
                message.content.kind = .image(preview: Self.text(NeutralPreview.picture))
            }
        case .video(preview: "", let seconds):
            let jpeg = await frame(of: message, maxBytes: maxBytes) ?? NeutralPreview.video
            message.content.kind = .video(preview: Self.text(jpeg), seconds: seconds)
        case .text, .image, .video, .voice, .file: break
        }
        return message
    }

    private func picture(of message: ComposedMessage, maxBytes: Int) async -> PictureDecoder.Outcome {
        guard message.size <= Self.maxPictureSize else { return .broken }
        let read = await ThreadPool.shared.run { () -> (PictureFormat, SharedContent)? in
            do {
                let content = try StagedContent.reader(of: message)
                let format = PictureFormat(start: try content(0, PictureFormat.bytesToTell))
                return format.map { ($0, content) }
            } catch {
                log.warning("preview content not read: error=\(sentenceWithCauses(of: error))")
                return nil
            }
        }
        guard let (format, content) = read else { return .unavailable }
        return await pictures.decode(format, size: message.size, maxBytes: maxBytes, content)
    }

    private func frame(of message: ComposedMessage, maxBytes: Int) async -> [UInt8]? {
        let content: SharedContent
        do {
            content = try await ThreadPool.shared.run { try StagedContent.reader(of: message) }
        } catch {
            log.warning("preview content not read: error=\(sentenceWithCauses(of: error))")
            return nil
        }
        guard let png = await videos.png(size: message.size, content) else { return nil }
        let outcome = await pictures.decode(.png, size: UInt64(png.count), maxBytes: maxBytes) {
            offset, count in
            Array(png.dropFirst(Int(offset)).prefix(count))
        }
        guard case .preview(let jpeg) = outcome else { return nil }
        return jpeg
    }

    /// Returns the maximum size of the JPEG in bytes. A message has at most 15,602 bytes, so caption bytes beyond 1,000
    /// reduce the preview.
    static func maxBytes(captionBytes: Int) -> Int {
        let characters = FilePolicy.maxPreviewCharacters - max(0, captionBytes - 1_000)
        return max(0, (characters - prefix.utf8.count) / 4 * 3)
    }

    /// Returns the data URI in the SimpleX apps' form.
    static func text(_ jpeg: [UInt8]) -> String { prefix + Base64.encode(jpeg) }
}

extension PreviewMaker {
    /// The installed programs and libraries for previews.
    public struct Equipment: Sendable {
        public var decodesPictures: Bool
        public var decodesWebP: Bool
        public var decodesVideos: Bool
    }

    /// Tests by starting the decoding processes.
    public func equipment() async -> Equipment {
        Equipment(
            decodesPictures: await pictures.canDecode(.jpeg), decodesWebP: await pictures.canDecode(.webp),
            decodesVideos: videos.program != nil)
    }
}
