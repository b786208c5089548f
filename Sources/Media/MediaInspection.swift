import ChatCore

/// Decides the form of a sent file if the user gave none. Pictures are recognised by content alone. Other files need a
/// matching extension and content; a misnamed file is sent as a file.
///
/// Decodes nothing and leaves previews empty: `PreviewMaker` creates them on sending. Durations of videos and
/// recordings are read from the container. Recordings differ from music by the names that recorders give (`voice…`,
/// `recording…`, `PTT-…`) or by their metadata (`VoiceMemo`).
public enum MediaInspection {
    /// - Parameter name: The file name. It need not be UTF-8.
    /// - Throws: The errors of `content`.
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

    /// Returns the format of a picture that the apps show, otherwise nil.
    static func picture(_ content: MediaContent) throws -> PictureFormat? {
        PictureFormat(start: try content(0, PictureFormat.bytesToTell))
    }

    /// The beginnings of recorders' file names, in lower case.
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

    /// Returns nil if the container is another one or has no duration.
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

    /// Returns at least 1, or nil for implausible values. No file that fits is longer than a day.
    static func wholeSeconds(_ seconds: Double?) -> Int? {
        guard let seconds, seconds.isFinite, seconds > 0, seconds <= 86_400 else { return nil }
        return max(1, Int(seconds.rounded()))
    }
}
