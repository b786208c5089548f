import Base
import ChatCore

/// A CryptoFile in the core's staging folder, complete and on disk.
struct StagedFile: Hashable, Sendable {
    /// Folder of its own inside the staging folder.
    var folder: String
    /// Name inside. Earlier versions gave it the name that the recipients see.
    var fileName: String
    var arguments: FileArguments
    var kind: MessageContent.Kind
}
