import Base
import ChatCore

/// A complete, durable CryptoFile in the core's staging folder.
struct StagedFile: Hashable, Sendable {
    /// Its own folder in the staging folder.
    var folder: String
    /// Name in the folder. Earlier versions used the name for recipients.
    var fileName: String
    var arguments: FileArguments
    var kind: MessageContent.Kind
}
