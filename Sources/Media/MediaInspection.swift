import ChatCore

/// As what a file is sent: decided by its extension, and by bytes that must agree with it, so that a
/// misnamed file goes as what it is to the recipients' apps: a file.
///
/// Nothing is decoded here, and previews are left empty: `PreviewMaker` makes them, when the file is sent.
/// A video needs its duration, a recording too; both are read from the container. A recording is told
/// from music by its name, as voice recorders give it (`voice…`, `recording…`, `PTT-…`).
public enum MediaInspection {
    /// - Parameter name: as the writer gave it; bytes that are no UTF-8 are allowed.
    /// - Throws: what `content` throws.
    public static func kind(
        name: [UInt8], size: UInt64, content: MediaContent
    ) throws -> MessageContent.Kind {
        let text = String(decoding: name, as: UTF8.self)
        let media = MediaType(fileName: text)
        switch media.kind {
        case .image:
            let format = PictureFormat(start: try content(0, PictureFormat.bytesToTell))
            return format?.mediaType == media.name ? .image(preview: "") : .file
        case .video:
            guard let seconds = try duration(media, size, content) else { return .file }
            return .video(preview: "", seconds: seconds)
        case .audio:
            guard isRecording(text), let seconds = try duration(media, size, content),
                seconds <= FilePolicy.maxVoiceSeconds
            else { return .file }
            return .voice(seconds: seconds)
        case .other:
            return .file
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
