import ChatCore

/// The requested form of a sent file. The raw value is the word of the command line.
public enum MediaForm: String, CaseIterable, Sendable {
    case file
    case image
    case video
    case voice
}

extension MediaInspection {
    /// Returns the message kind for the requested form. Considers only the content, not the name. Decodes nothing and
    /// leaves previews empty.
    /// - Throws: `ChatError` `.invalidCommand` for content that the SimpleX apps cannot show or play in that form; the
    ///   errors of `content`.
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
