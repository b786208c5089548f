import ChatCore

/// The bytes of a file that is looked into: up to `count` from `offset` on, fewer at its end.
public typealias MediaContent = (_ offset: UInt64, _ count: Int) throws -> [UInt8]

/// As what a file is sent: decided by its extension, and by bytes that must agree with it, so that a
/// misnamed file goes as what it is to the recipients' apps: a file.
///
/// An image is sent without a preview: only the apps of the official core show one, and decoding
/// pictures has no place in a process that holds the keys of a mount (`docs/security.md`).
/// A video needs its duration, a recording too; both are read from the container. A recording is told
/// from music by its name, as voice recorders give it (`voice…`, `recording…`, `PTT-…`).
public enum MediaInspection {
    /// - Parameter name: as the writer gave it; bytes that are no UTF-8 are allowed.
    public static func kind(
        name: [UInt8], size: UInt64, content: MediaContent
    ) throws -> MessageContent.Kind {
        let text = String(decoding: name, as: UTF8.self)
        let media = MediaType(fileName: text)
        switch media.kind {
        case .image:
            return isImage(media, try content(0, 16)) ? .image(preview: "") : .file
        case .video:
            guard let seconds = try duration(media, size, content) else { return .file }
            return .video(preview: "", seconds: seconds)
        case .audio:
            guard isRecording(text), let seconds = try duration(media, size, content),
                seconds <= FilePolicy.longestVoiceSeconds
            else { return .file }
            return .voice(seconds: seconds)
        case .other:
            return .file
        }
    }

    /// The formats that the apps show.
    private static func isImage(_ media: MediaType, _ start: [UInt8]) -> Bool {
        switch media.name {
        case "image/jpeg": start.starts(with: [0xFF, 0xD8, 0xFF])
        case "image/png": start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        case "image/gif": start.starts(with: Array("GIF8".utf8))
        case "image/webp":
            start.starts(with: Array("RIFF".utf8)) && start.dropFirst(8).starts(with: Array("WEBP".utf8))
        default: false
        }
    }

    private static func isRecording(_ name: String) -> Bool {
        let lower = name.lowercased()
        return ["voice", "recording", "ptt-"].contains { lower.hasPrefix($0) }
    }

    /// Whole seconds, at least 1; nil when the container is another one or does not say.
    private static func duration(
        _ media: MediaType, _ size: UInt64, _ content: MediaContent
    ) throws -> Int? {
        let seconds: Double?
        switch media.name {
        case "video/mp4", "video/quicktime", "video/3gpp", "audio/mp4":
            seconds = try MovieFile.duration(size: size, content)
        case "video/webm", "video/x-matroska":
            seconds = try MatroskaFile.duration(content)
        case "audio/ogg":
            seconds = try OggFile.duration(size: size, content)
        default:
            seconds = nil
        }
        // A day is longer than any file that fits: more is nonsense.
        guard let seconds, seconds.isFinite, seconds > 0, seconds <= 86_400 else { return nil }
        return max(1, Int(seconds.rounded()))
    }
}
