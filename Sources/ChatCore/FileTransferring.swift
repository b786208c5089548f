import Base

/// Files of messages: locations, downloads by the core, and downloads by the caller.
///
/// A received file can be downloaded in two ways; both first check whether its relays may be contacted:
///
/// * `receiveFile` leaves the download to the core, which resumes it across restarts. `ItemChange.completed` or
///   `failed` reports the end.
/// * `claimFile` returns the description, so that the caller can fetch the chunks that a reader needs. A
///   claim ends with `completeClaim`, `abandonClaim` or the process. The core does not download a claimed
///   file, unless the claim says so.
///
/// A file with a readable `status` stays at its source, as a CryptoFile or plaintext, until its item is
/// deleted.
public protocol FileTransferring: OpenProfile {
    /// Returns the location of a readable file, for cores that omit `ChatFile.source` to hold keys back. nil
    /// if there is none.
    /// - Throws: `.noSuchFile`.
    func location(of file: FileID) async throws(ChatError) -> FileSourceLocation?
    /// The same for a reader that waits, where the content may have to come from another machine first.
    /// - Parameter progress: called whenever some of it has come. Any thread; returns at once.
    /// - Throws: `.noSuchFile`; `.file(.unreachable)` while the other machine is away.
    func location(
        of file: FileID, progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation?

    /// Returns the addresses of the relays that a received file's description names; empty if none is at hand. Contacts
    /// no relay.
    func relays(of file: FileID) async -> [String]

    // MARK: - Downloads by the core

    /// Starts to receive a file. `ItemChange.completed` or `failed` reports the end. A running transfer
    /// continues; a complete file is reported again.
    /// - Throws: `.noSuchFile`, `.file(.notApproved)` naming the relays, `.file` with a final reason,
    ///   `.alreadyReceiving` for a claimed file.
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError)
    /// Receives a file as soon as its description arrives.
    /// - Throws: the errors of `receiveFile`.
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError)
    /// Receives waiting files after relays were approved or the policy changed.
    func relaysWereApproved() async
    /// Cancels a transfer. A received file becomes an offer again. A sent one stops, its chunks are deleted,
    /// and recipients are told.
    /// - Throws: `.noSuchFile`, `.invalidCommand` for an ended transfer.
    func cancelFile(_ file: FileID) async throws(ChatError)

    // MARK: - Downloads by the caller

    /// Whether a claim makes the core receive the whole file too.
    var receivesWhatIsClaimed: Bool { get }
    /// Claims a described file for downloading by the caller, after the checks of `receiveFile`. Returns nil
    /// if the core cannot; use `receiveFile` then.
    /// - Throws: the errors of `receiveFile`.
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile?
    /// Completes a claim. The verified CryptoFile at `staged`, in the staging folder and durable, becomes the
    /// core's copy. Its plaintext has more than content only if the claim keeps streams. Returns its location.
    /// - Throws: `.noSuchFile`, `.file` if the sender withdrew it. The staged file is removed then.
    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation
    /// Ends a claim.
    /// - Parameter problem: final reason why the file is unavailable; nil otherwise.
    func abandonClaim(_ file: FileID, problem: FileProblem?) async
    /// Reports a damaged or missing copy. The core keeps it aside until there is a good one, and offers the
    /// file again if it was received and can be downloaded.
    /// - Throws: `.noSuchFile`.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy
}

extension FileTransferring {
    /// For cores whose items always have a source.
    public func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? { nil }

    /// For cores whose files are on this machine.
    public func location(
        of file: FileID, progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation? { try await location(of: file) }

    /// For cores without descriptions.
    public func relays(of file: FileID) async -> [String] { [] }

    /// For cores that do not download claimed files.
    public var receivesWhatIsClaimed: Bool { false }

    /// For cores that receive files only on request.
    public func relaysWereApproved() async {}

    /// For cores that cannot offer a file again.
    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy { .lost(.damagedCopy) }
}

/// A claim's file description (YAML). Secret.
public struct ClaimedFile: Sendable {
    public var description: String
    /// Whether the core also downloads the file. Then the claim needs no `completeClaim`, and `ItemChange.completed`
    /// reports the core's copy.
    public var isReceivedByCore: Bool
    /// Whether `completeClaim` takes the whole stream as it lies on the relays, under its own key, with the
    /// place of its content.
    public var keepsStream: Bool
    /// Sentence about a damaged earlier copy, for the case that the download fails.
    public var remains: String?

    public init(
        description: String, isReceivedByCore: Bool = false, keepsStream: Bool = false, remains: String? = nil
    ) {
        self.description = description
        self.isReceivedByCore = isReceivedByCore
        self.keepsStream = keepsStream
        self.remains = remains
    }
}

/// State of a file after its copy was given up.
public enum GivenUpCopy: Sendable {
    /// The current item, which can be received again.
    case offered(ChatItem)
    /// There is no other copy.
    case lost(FileProblem)
}
