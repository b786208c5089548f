import Base
import ChatCore

/// A command of the chat API. Its text is made by `text()` from checked values only.
public enum APICommand: Hashable, Sendable {
    // Users and life.
    case user
    case users
    case setActiveUser(Int64)
    case createUser(displayName: String)
    case start
    case stop
    /// Nothing comes from the network or goes there until `activate`; what is under way has so long.
    case suspend(Duration)
    case activate
    /// Both with the chat stopped; `temporary` is an existing folder.
    case exportArchive(path: String, temporary: String)
    case importArchive(path: String, temporary: String)
    case version
    /// Folders and encryption hold for one run of the core. Absolute paths, one filesystem.
    case filesFolder(String)
    case temporaryFolder(String)
    case encryptFiles(Bool)
    case network
    case relays(user: Int64)

    // Chats and items.
    /// The newest `count` chats.
    case chats(user: Int64, count: Int)
    case chatPage(APIChatReference, APIPage)
    /// Items of all chats, newest last.
    case recentItems(count: Int)
    case contacts(user: Int64)
    /// `spaced` is how later versions spell it; 6.4 wants it without: see `OfficialTransport.groups`.
    case groups(user: Int64, spaced: Bool)

    /// The user's own name for a contact or group.
    case setAlias(ChatReference, String)
    case leaveGroup(Int64)
    /// Into which a contact invites.
    case joinGroup(Int64)
    /// With `keepsHistory` a contact ends and what it holds stays.
    case deleteChat(ChatReference, keepsHistory: Bool)

    // People.
    /// Makes a link for one person.
    case invite(user: Int64)
    /// What a link leads to.
    case connectionPlan(user: Int64, link: String)
    case connect(user: Int64, APILink)
    case securityCode(contact: Int64)
    /// Digits and spaces; nil: the contact counts as not verified.
    case verifyCode(contact: Int64, String?)
    /// Also where the core sees no need.
    case renewKeys(contact: Int64)
    /// To a server of the core's choice.
    case moveQueue(contact: Int64)
    case createAddress(user: Int64)
    case showAddress(user: Int64)
    case deleteAddress(user: Int64)
    case addressSettings(user: Int64, acceptsAutomatically: Bool)
    /// The same for earlier versions.
    case autoAccept(user: Int64, Bool)
    case acceptRequest(Int64)
    case rejectRequest(Int64)

    // Messages.
    case send(APIChatReference, [APIComposedMessage])
    case createNotes(Int64, [APIComposedMessage])
    case deleteItems(APIChatReference, [ItemID], DeletionMode)
    case markRead(APIChatReference, [ItemID])

    // Files.
    /// Without a path the core chooses the name in its files folder. `encrypted` nil: as set globally.
    case receiveFile(FileID, approvedRelays: Bool, encrypted: Bool?, path: String?)
    case setFileToReceive(FileID, approvedRelays: Bool, encrypted: Bool?)
    case cancelFile(FileID)
    case upload(user: Int64, path: String)
    case download(user: Int64, link: String, path: String)
    case downloadInfo(link: String)

    /// One SELECT on the chat database. Only numbers and fixed words may be put into it.
    case query(String)
    /// The same on the database of transfers and connections.
    case agentQuery(String)
}

extension APICommand {
    /// Whether the core answers it only when it is not suspended: what makes it speak with relays, or look into the
    /// database of its connections.
    var needsNetwork: Bool {
        switch self {
        case .send, .deleteItems, .leaveGroup, .joinGroup, .deleteChat, .receiveFile, .setFileToReceive,
            .cancelFile,
            .upload, .download, .agentQuery, .invite, .connectionPlan, .connect, .securityCode, .verifyCode,
            .renewKeys, .moveQueue, .createAddress, .deleteAddress, .acceptRequest, .rejectRequest:
            true
        default: false
        }
    }
}

/// Which part of a chat's history.
public enum APIPage: Hashable, Sendable {
    case last(Int)
    case before(ItemID, count: Int)
    case after(ItemID, count: Int)
    case around(ItemID, count: Int)
}

/// A message to send (`ComposedMessage` of the chat API).
public struct APIComposedMessage: Hashable, Sendable {
    /// The CryptoFile to send, absolute path; its last component is the name that recipients see. nil: only a text.
    public var source: FileSourceLocation?
    public var content: MessageContent
    /// The source is a name in the folder of files of a core on another machine, which has it already.
    public var isStored: Bool

    public init(source: FileSourceLocation?, content: MessageContent, isStored: Bool = false) {
        self.source = source
        self.content = content
        self.isStored = isStored
    }
}
