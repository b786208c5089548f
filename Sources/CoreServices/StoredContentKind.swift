import ChatCore
import Store

extension ChatItem.Direction: SQLBindable {}

/// The kind of a message's content in a column. `Row.value` reports any other word as damage.
public enum StoredContentKind: String, SQLBindable, CaseIterable {
    case text
    case file
    case image
    case video
    case voice

    public static func columns(of kind: MessageContent.Kind) -> (kind: Self, preview: String, seconds: Int) {
        switch kind {
        case .text: (.text, "", 0)
        case .file: (.file, "", 0)
        case .image(let preview): (.image, preview, 0)
        case .video(let preview, let seconds): (.video, preview, seconds)
        case .voice(let seconds): (.voice, "", seconds)
        }
    }

    public func kind(preview: String, seconds: Int) -> MessageContent.Kind {
        switch self {
        case .text: .text
        case .file: .file
        case .image: .image(preview: preview)
        case .video: .video(preview: preview, seconds: seconds)
        case .voice: .voice(seconds: seconds)
        }
    }
}
