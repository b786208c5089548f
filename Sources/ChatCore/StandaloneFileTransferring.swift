/// Files that belong to no chat: uploaded for a link that is given to others by another way, downloaded from one.
///
/// Both commands return as soon as the core has noted the transfer, with its number; it goes on over restarts. The end
/// is told by events with that number: sndStandaloneFileComplete with the links, rcvStandaloneFileComplete, or one of
/// the errors. A link holds the key of its file: it is a secret of who has it.
public protocol StandaloneFileTransferring: OpenProfile {
    /// Uploads a regular file of any size, read from where it lies until the end. Absolute path.
    /// - Throws: `.invalidCommand` for what is no regular file, `.file(.noRelay)`.
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID

    /// Uploads a CryptoFile that stays where it is until the end. The same path again returns the transfer that is
    /// there: after a break it may be repeated.
    /// - Parameter name: which who downloads it finds in it.
    /// - Throws: `.invalidCommand` where the core reads no CryptoFiles (`uploadsCryptoFiles`), `.file(.noRelay)`.
    func uploadStandaloneFile(
        _ source: FileSourceLocation, named name: String
    ) async throws(ChatError) -> FileID
    /// Whether CryptoFiles can be uploaded; else plain files only.
    var uploadsCryptoFiles: Bool { get }
    /// What an upload that is over came to; nil while it goes on, and for a core that tells it by events alone.
    /// - Throws: `.noSuchFile`.
    func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome?
    /// Refuses a file description whose relays may not be contacted to receive the file.
    /// - Throws: `.file(.notApproved)` naming the relays, `.file(.damaged)` for a text that is no description.
    func checkRelays(of description: String) async throws(ChatError)

    /// Downloads to a name that is not there yet. Absolute path; plain bytes.
    /// - Throws: `.file(.damaged)` for a text that is no link, `.invalidCommand` when the name is taken.
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID

    /// Ends a transfer, and has what an upload left on relays deleted, also when it was complete.
    /// - Throws: `.noSuchFile`, also for the file of a message.
    func cancelStandaloneFile(_ file: FileID) async throws(ChatError)

    /// What a link says of its file; no relay is asked.
    /// - Throws: `.file(.damaged)` for a text that is no link.
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile
}

extension StandaloneFileTransferring where Self: FileTransferring {
    /// For cores in which such files have numbers of their own.
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

    /// For cores that tell it by events alone.
    public func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome? {
        nil
    }

    /// For cores without a list of their own: nothing is approved.
    public func checkRelays(of description: String) async throws(ChatError) {
        throw ChatError(.file(.notApproved), FileProblem.relaysNotApproved.sentence)
    }
}

/// How a standalone upload ended.
public enum StandaloneOutcome: Hashable, Sendable {
    /// A secret.
    case link(String)
    case failed(FileProblem)
}

/// What a link tells about its file before it is fetched.
public struct StandaloneFile: Hashable, Sendable {
    /// Size of the encrypted and padded file in bytes.
    public var encryptedSize: UInt64
    public var relays: [String]

    public init(encryptedSize: UInt64, relays: [String]) {
        self.encryptedSize = encryptedSize
        self.relays = relays
    }
}
