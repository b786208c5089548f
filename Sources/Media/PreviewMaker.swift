import Base
import ChatCore
import Posix

/// Gives messages with pictures and videos their previews, when they are sent.
///
/// The bytes are decrypted in memory and decoded by processes of their own, which may do nothing else
/// (`PictureProcess`, `VideoFrame`); neither they nor a preview touch a disk on the way.
public struct PreviewMaker: Sendable {
    private let pictures: PictureDecoder
    private let videos: VideoFrame

    /// Larger pictures are not decoded, and sent as files.
    static let maxPictureSize: UInt64 = 64 << 20
    private static let prefix = "data:image/jpg;base64,"

    /// - Parameters:
    ///   - program: a path of `chatfs` itself.
    ///   - searchPath: the folders in which `ffmpeg` is looked for.
    ///   - timeout: how long one file may take on a busy machine.
    public init(
        program: String = "/proc/self/exe", searchPath: [String] = ProgramSearch.folders(),
        timeout: Duration = .seconds(30)
    ) {
        pictures = PictureDecoder(program: program, timeout: timeout)
        videos = VideoFrame(
            program: ProgramSearch.path(of: "ffmpeg", in: searchPath), timeout: timeout)
    }

    /// The same message with a preview. A picture that cannot be decoded becomes a plain file; what could
    /// not be looked at, because a library is missing, gets a grey preview. Takes some milliseconds to
    /// `timeout`; never blocks its thread.
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
                log.warning("the content of a preview could not be read: \(sentenceWithCauses(of: error))")
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
            log.warning("the content of a preview could not be read: \(sentenceWithCauses(of: error))")
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

    /// How large the JPEG may be. A message has at most 15,602 bytes as a whole, so a long caption takes
    /// from the preview what exceeds the 1,000 bytes that are left beside it.
    static func maxBytes(captionBytes: Int) -> Int {
        let characters = FilePolicy.maxPreviewCharacters - max(0, captionBytes - 1_000)
        return max(0, (characters - prefix.utf8.count) / 4 * 3)
    }

    /// The data URI, in the words of the SimpleX apps.
    static func text(_ jpeg: [UInt8]) -> String { prefix + Base64.encode(jpeg) }
}

extension PreviewMaker {
    /// What is installed of what previews need.
    public struct Equipment: Sendable {
        public var decodesPictures: Bool
        public var decodesWebP: Bool
        public var decodesVideos: Bool
    }

    /// Looks, by starting the processes that would decode.
    public func equipment() async -> Equipment {
        Equipment(
            decodesPictures: await pictures.canDecode(.jpeg), decodesWebP: await pictures.canDecode(.webp),
            decodesVideos: videos.program != nil)
    }
}
