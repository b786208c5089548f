import ChatCore

/// As what a file is sent when its user does not say so: a picture by its content, whatever its name says; everything
/// else by its extension and by bytes that must agree with it, so that a misnamed file goes as what it is to the
/// recipients' apps: a file.
///
/// Nothing is decoded here, and previews are left empty: `PreviewMaker` makes them, when the file is sent.
/// A video needs its duration, a recording too; both are read from the container. A recording is told
/// from music by its name, as voice recorders give it (`voice…`, `recording…`, `PTT-…`), or by what its recorder wrote into
/// it (`VoiceMemo`).
public enum MediaInspection {
    /// - Parameter name: as the writer gave it; bytes that are no UTF-8 are allowed.
    /// - Throws: what `content` throws.
    public static func kind(
        name: [UInt8], size: UInt64, content: MediaContent
    ) throws -> MessageContent.Kind {
        if try picture(content) != nil { return .image(preview: "") }
        let text = String(decoding: name, as: UTF8.self)
        let media = MediaType(fileName: text)
        switch media.kind {
        case .video:
            guard let seconds = try duration(media, size, content) else { return .file }
            return .video(preview: "", seconds: seconds)
        case .audio:
            guard let seconds = try duration(media, size, content), seconds <= FilePolicy.maxVoiceSeconds,
                try isNamedAsRecording(text) || isVoiceMemo(media, size, content)
            else { return .file }
            return .voice(seconds: seconds)
        case .image, .other:
            return .file
        }
    }

    /// The format of a picture that the apps show; nil for anything else.
    static func picture(_ content: MediaContent) throws -> PictureFormat? {
        PictureFormat(start: try content(0, PictureFormat.bytesToTell))
    }

    /// In lower case, as recorders begin the names of what they make.
    private static let recordings = [
        "voice", "recording", "ptt-", "new recording", "neue aufnahme", "nouvel enregistrement",
        "nueva grabación", "nuova registrazione",
    ]

    private static func isNamedAsRecording(_ name: String) -> Bool {
        let lower = name.lowercased()
        return recordings.contains { lower.hasPrefix($0) }
    }

    private static func isVoiceMemo(
        _ media: MediaType, _ size: UInt64, _ content: MediaContent
    ) throws -> Bool { try media.name == "audio/mp4" && VoiceMemo.isMade(size: size, content) }

    /// nil when the container is another one or does not say.
    private static func duration(
        _ media: MediaType, _ size: UInt64, _ content: MediaContent
    ) throws -> Int? {
        switch media.name {
        case "video/mp4", "video/quicktime", "video/3gpp", "audio/mp4":
            wholeSeconds(try MovieFile.duration(size: size, content))
        case "video/webm", "video/x-matroska":
            wholeSeconds(try MatroskaFile.duration(content))
        case "audio/ogg":
            wholeSeconds(try OggFile.duration(size: size, content))
        default: nil
        }
    }

    /// At least 1; nil for nonsense: a day is longer than any file that fits.
    static func wholeSeconds(_ seconds: Double?) -> Int? {
        guard let seconds, seconds.isFinite, seconds > 0, seconds <= 86_400 else { return nil }
        return max(1, Int(seconds.rounded()))
    }
}
