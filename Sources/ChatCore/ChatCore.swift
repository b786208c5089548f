import Base

/// Where the chats come from: the one seam between ChatFS and SimpleX.
///
/// Vocabulary and behaviour are those of the SimpleX chat API. A core keeps its state itself and
/// durably; whoever uses it may die at any moment. Every command either takes effect as a whole or
/// throws and has changed nothing. Commands may be called from any task, at once; none blocks a
/// thread of the cooperative pool. What changes is told by `events`, also when a command of this
/// very object caused it, except the item that `send` returns. Each call of `events` opens a stream
/// of its own that holds every event from then on until it is dropped; a listener that wants the
/// whole picture opens the stream first and reads `chats` and `items` afterwards.
public protocol ChatCore: Sendable {
    /// The profile whose chats these are.
    var profile: Profile { get }
    var limits: ChatLimits { get }
    /// A folder for CryptoFiles that are handed over by `send` and `completeClaim`: on the same
    /// filesystem as the core's own files, mode 0700. Absolute path.
    var stagingFolder: String { get }

    func events() -> AsyncStream<ChatEvent>

    /// All chats: contacts, groups, the notes.
    func chats() async throws(ChatError) -> [Chat]
    /// Up to `count` items with a file, newest first, older than `before`.
    func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem]
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem

    /// A message with a file of `size` bytes will follow in a moment: what takes time and does not need the
    /// file can begin. Returns at once, promises nothing.
    func expectToSend(_ size: UInt64)
    /// Sends one message with a file. On return the message is in the core's store, exactly once for
    /// each `ComposedMessage.id`: the same id again returns the item that is there. The core owns
    /// the staged file from then on, whose bytes its writer has made durable.
    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem
    /// Sends several, in their order, each as `send` does; one that is refused holds up none of the
    /// others. As many answers as messages.
    func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>]
    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError)

    /// Somebody opened the file of a received message. Returns at once, promises nothing: what follows from
    /// that is the core's business.
    func noteOpened(_ item: ItemID, in chat: ChatReference)

    /// Where the content of a readable file lies, for items whose `ChatFile.source` is nil because the
    /// core keeps keys to itself until they are needed. nil: nowhere.
    func location(of file: FileID) async throws(ChatError) -> FileSourceLocation?

    /// Starts to receive a file for good; its end is told by rcvFileComplete or rcvFileError.
    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError)
    /// The same, as soon as its description is there.
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError)
    /// The user approved relays, or changed what holds for those that nobody decided about: files that were
    /// to be received and lie there are received now.
    func relaysWereApproved() async
    /// Receiving: back to the invitation. Sending: stops, deletes the chunks, tells the recipients.
    func cancelFile(_ file: FileID) async throws(ChatError)

    /// Claims a described file for chunk-wise fetching by the caller, after the same checks as
    /// `receiveFile` (relay approval first of all), and answers its description. nil: this core
    /// cannot give it, use `receiveFile`. One claim per file; a claim ends by `completeClaim`,
    /// `abandonClaim` or the end of the process.
    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile?
    /// The claimed file is fetched and checked as a whole: the CryptoFile at `staged`, in the staging
    /// folder and already synchronised to disk, becomes the core's durable copy. Returns where it lies now.
    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation
    /// The durable copy of a file turned out to be damaged, or is not there. It is set aside until a good one
    /// is there, and where the file was received and can be had again, it is offered as before.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy
    /// Gives the claim back, with the reason when the file can never be had.
    func abandonClaim(_ file: FileID, problem: FileProblem?) async

    /// Uploads a file that belongs to no chat; its links come with sndStandaloneFileComplete.
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile
}

extension ChatCore {
    public func expectToSend(_ size: UInt64) {}

    /// For cores without messages that disappear.
    public func noteOpened(_ item: ItemID, in chat: ChatReference) {}

    /// For cores that receive nothing unless it is asked for.
    public func relaysWereApproved() async {}

    /// For cores that can offer nothing once more.
    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy { .lost(.damagedCopy) }

    /// For cores whose items always carry the source.
    public func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? { nil }

    public func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        await sendOneByOne(messages, to: chat)
    }

    /// For cores that gain nothing by taking them together, or cannot this time.
    public func sendOneByOne(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        var answers: [Result<ChatItem, ChatError>] = []
        for message in messages {
            do throws(ChatError) {
                answers.append(.success(try await send(message, to: chat)))
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }
}

/// Sizes that a core accepts, in bytes of plaintext.
public struct ChatLimits: Hashable, Sendable {
    /// Largest file in a contact's or group's chat. Notes have no limit.
    public var largestFile: UInt64
    /// Messages that this core takes at less cost together than one by one.
    public var mostSentTogether: Int

    public init(largestFile: UInt64, mostSentTogether: Int = 1) {
        self.largestFile = largestFile
        self.mostSentTogether = mostSentTogether
    }
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

/// A message to send. `id` is the mark by which a repeated send is recognised.
public struct ComposedMessage: Sendable {
    public var id: String
    /// Name the recipients see: already made safe.
    public var fileName: String
    public var size: UInt64
    /// The staged CryptoFile.
    public var source: FileSourceLocation
    public var content: MessageContent
    /// The time of the file, shown as its mtime; nil for the time of sending.
    public var modified: Timestamp?
    /// The user accepts that the recipients may get it twice: sent although an earlier attempt ended in
    /// `.sendingUnsure`.
    public var mayBeRepeated = false

    public init(
        id: String, fileName: String, size: UInt64, source: FileSourceLocation, content: MessageContent,
        modified: Timestamp? = nil
    ) {
        self.id = id
        self.fileName = fileName
        self.size = size
        self.source = source
        self.content = content
        self.modified = modified
    }
}

public enum DeletionMode: String, Sendable {
    /// For everyone: own items of the last 24 hours.
    case broadcast
    /// Only here.
    case `internal`
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
