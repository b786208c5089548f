import Base

/// The files of messages: where they lie, receiving them, and fetching them chunk by chunk beside the core.
///
/// There are two ways to the content of a received file. `receiveFile` leaves all to the core; the end is told by
/// rcvFileComplete or rcvFileError, and it goes on over restarts until then. `claimFile` gives the caller the
/// description, so that it can fetch the chunks that a reader waits for: one claim for a file, which ends by
/// `completeClaim`, `abandonClaim` or the end of the process; while it lasts the core does not fetch the file itself,
/// unless the claim says so. Both check first whether the relays may be contacted. A file whose `status` is readable
/// lies at its source, as a CryptoFile or plain, until its item is deleted.
public protocol FileTransferring: OpenProfile {
    /// Where the content of a readable file lies, for items whose `ChatFile.source` is nil because the
    /// core keeps keys to itself until they are needed. nil: nowhere.
    /// - Throws: `.noSuchFile`.
    func location(of file: FileID) async throws(ChatError) -> FileSourceLocation?

    // MARK: - By the core

    /// Starts to receive a file for good; its end is told by rcvFileComplete or rcvFileError. One that is being
    /// received goes on; one that has come is told once more.
    /// - Throws: `.noSuchFile`, `.file(.notApproved)` naming the relays, `.file` with why it can never be had,
    ///   `.alreadyReceiving` for a claimed one.
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError)
    /// The same, as soon as its description is there.
    /// - Throws: as `receiveFile`.
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError)
    /// The user approved relays, or changed what holds for those that nobody decided about: files that were
    /// to be received and lie there are received now.
    func relaysWereApproved() async
    /// Receiving: back to the invitation. Sending: stops, deletes the chunks, tells the recipients.
    /// - Throws: `.noSuchFile`, `.invalidCommand` for a transfer that is over.
    func cancelFile(_ file: FileID) async throws(ChatError)

    // MARK: - By the caller

    /// A claim makes the core receive the whole file as well, whatever of it is read.
    var receivesWhatIsClaimed: Bool { get }
    /// Claims a described file for chunk-wise fetching by the caller, after the same checks as
    /// `receiveFile` (relay approval first of all), and answers its description. nil: this core
    /// cannot give it, use `receiveFile`.
    /// - Throws: as `receiveFile`.
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile?
    /// The claimed file is fetched and checked as a whole: the CryptoFile at `staged`, in the staging
    /// folder and already synchronised to disk, becomes the core's durable copy. Returns where it lies now.
    /// - Throws: `.noSuchFile`, `.file` when the sender took it back meanwhile. The staged file is gone then, too.
    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation
    /// Gives the claim back, with the reason when the file can never be had.
    func abandonClaim(_ file: FileID, problem: FileProblem?) async
    /// The durable copy of a file turned out to be damaged, or is not there. It is set aside until a good one
    /// is there, and where the file was received and can be had again, it is offered as before.
    /// - Throws: `.noSuchFile`.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy
}

extension FileTransferring {
    /// For cores whose items always carry the source.
    public func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? { nil }

    /// For cores that leave a claimed file to who claims it.
    public var receivesWhatIsClaimed: Bool { false }

    /// For cores that receive nothing unless it is asked for.
    public func relaysWereApproved() async {}

    /// For cores that can offer nothing once more.
    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy { .lost(.damagedCopy) }
}

/// What a claim gives: the text of the file description (YAML). A secret.
public struct ClaimedFile: Sendable {
    public var description: String
    /// The core fetches the whole as well, for its own durable copy: the claim needs no `completeClaim`,
    /// and rcvFileComplete tells when the copy is there.
    public var isReceivedByCore: Bool
    /// For who cannot get the file any more: what can be had of an earlier copy that is damaged. A sentence.
    public var remains: String?

    public init(description: String, isReceivedByCore: Bool = false, remains: String? = nil) {
        self.description = description
        self.isReceivedByCore = isReceivedByCore
        self.remains = remains
    }
}

/// What becomes of a file whose durable copy is damaged.
public enum GivenUpCopy: Sendable {
    /// The item as it is now: it can be received once more.
    case offered(ChatItem)
    /// There is no other copy.
    case lost(FileProblem)
}
