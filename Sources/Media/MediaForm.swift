import ChatCore

/// As what a user wants a file to be sent. The raw value is the word of the command line.
public enum MediaForm: String, CaseIterable, Sendable {
    case file
    case image
    case video
    case voice
}

extension MediaInspection {
    /// The kind of message that a file becomes by its user's wish. Only its content counts, not its name; nothing is decoded,
    /// and previews are left empty.
    /// - Throws: `ChatError` `.invalidCommand` for a content that the SimpleX apps cannot show or play that way; what
    ///   `content` throws.
    public static func kind(
        as form: MediaForm, size: UInt64, content: MediaContent
    ) throws -> MessageContent.Kind {
        switch form {
        case .file: return .file
        case .image:
            guard try picture(content) != nil else {
                throw unsuitable("This is no picture that the SimpleX apps show (JPEG, PNG, GIF, WebP)")
            }
            return .image(preview: "")
        case .video:
            let length = try MovieFile.duration(size: size, content) ?? MatroskaFile.duration(content)
            guard let seconds = wholeSeconds(length) else {
                throw unsuitable(
                    "This is no video with a duration that can be read (MP4, MOV, WebM, Matroska)")
            }
            return .video(preview: "", seconds: seconds)
        case .voice:
            let length = try MovieFile.duration(size: size, content) ?? OggFile.duration(size: size, content)
            guard let seconds = wholeSeconds(length) else {
                throw unsuitable("This is no recording with a duration that can be read (M4A, Ogg Opus)")
            }
            guard seconds <= FilePolicy.maxVoiceSeconds else {
                throw unsuitable(
                    "A voice message has \(FilePolicy.maxVoiceSeconds) seconds at most, and this recording has \(seconds)"
                )
            }
            return .voice(seconds: seconds)
        }
    }

    private static func unsuitable(_ reason: String) -> ChatError {
        ChatError(.invalidCommand, reason + ": send it as a file.")
    }
}
