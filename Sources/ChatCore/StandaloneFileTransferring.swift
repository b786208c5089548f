/// Files without a chat, uploaded for a link or downloaded from one.
///
/// Commands return once the core has stored the transfer, with its id. Transfers resume across restarts.
/// Events with that id report the end: sndStandaloneFileComplete with links, rcvStandaloneFileComplete, or an
/// error. A link contains the file's key: it is secret.
public protocol StandaloneFileTransferring: OpenProfile {
    /// Uploads a regular file of any size. It is read in place until the end.
    /// - Parameter path: absolute path.
    /// - Throws: `.invalidCommand` for other files, `.file(.noRelay)`.
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID

    /// Uploads a CryptoFile, which must stay in place until the end. The same path again returns the existing
    /// transfer, so the call can be repeated.
    /// - Parameter name: file name for recipients.
    /// - Throws: `.invalidCommand` if the core cannot read CryptoFiles (`uploadsCryptoFiles`),
    ///   `.file(.noRelay)`.
    func uploadStandaloneFile(
        _ source: FileSourceLocation, named name: String
    ) async throws(ChatError) -> FileID
    /// Whether CryptoFiles can be uploaded.
    var uploadsCryptoFiles: Bool { get }
    /// Returns the result of an upload; nil while it runs, and for cores that report it by events only.
    /// - Throws: `.noSuchFile`.
    func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome?
    /// Checks whether the relays of a file description may be contacted.
    /// - Throws: `.file(.notApproved)` naming the relays, `.file(.damaged)` for an invalid description.
    func checkRelays(of description: String) async throws(ChatError)

    /// Downloads to a new plaintext file.
    /// - Parameter path: absolute path, which must not exist.
    /// - Throws: `.file(.damaged)` for an invalid link, `.invalidCommand` if the path exists.
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID

    /// Cancels a transfer and deletes an upload's chunks, even when complete.
    /// - Throws: `.noSuchFile`, also for the file of a message.
    func cancelStandaloneFile(_ file: FileID) async throws(ChatError)

    /// Returns a link's information about its file without network access.
    /// - Throws: `.file(.damaged)` for an invalid link.
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile
}

extension StandaloneFileTransferring where Self: FileTransferring {
    /// For cores that give standalone files ids of the same kind.
    public func cancelStandaloneFile(_ file: FileID) async throws(ChatError) { try await cancelFile(file) }
}

extension StandaloneFileTransferring {
    /// For cores that read plain files only.
    public func uploadStandaloneFile(
        _ source: FileSourceLocation, named name: String
    ) async throws(ChatError) -> FileID {
        throw ChatError(.invalidCommand, "This core uploads plain files only.")
    }
    public var uploadsCryptoFiles: Bool { false }

    /// For cores that report it by events only.
    public func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome? {
        nil
    }

    /// For cores without approvals.
    public func checkRelays(of description: String) async throws(ChatError) {
        throw ChatError(.file(.notApproved), FileProblem.relaysNotApproved.sentence)
    }
}

/// Result of a standalone upload.
public enum StandaloneOutcome: Hashable, Sendable {
    /// Secret.
    case link(String)
    case failed(FileProblem)
}

/// A link's information about its file.
public struct StandaloneFile: Hashable, Sendable {
    /// Encrypted and padded size in bytes.
    public var encryptedSize: UInt64
    public var relays: [String]

    public init(encryptedSize: UInt64, relays: [String]) {
        self.encryptedSize = encryptedSize
        self.relays = relays
    }
}
