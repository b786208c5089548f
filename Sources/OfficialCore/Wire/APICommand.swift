import ChatCore

/// A command of the chat API. `text()` formats it from checked values only.
public enum APICommand: Hashable, Sendable {
    // Users and lifecycle.
    case user
    case users
    case setActiveUser(Int64)
    case createUser(displayName: String)
    case start
    case stop
    /// `/_app suspend`: ends the use of the network until `activate`; running work gets this time.
    case suspend(Duration)
    case activate
    /// Both with stopped chats; `temporary` is an existing folder.
    case exportArchive(path: String, temporary: String)
    case importArchive(path: String, temporary: String)
    case version
    /// Folders and encryption hold until the core exits. Absolute paths on one filesystem.
    case filesFolder(String)
    case temporaryFolder(String)
    case encryptFiles(Bool)
    case network
    case relays(user: Int64)

    // Chats and items.
    /// The newest `count` chats.
    case chats(user: Int64, count: Int)
    case chatPage(APIChatReference, APIPage)

    /// Sets the user's alias of a contact or group.
    case setAlias(ChatReference, String)
    case leaveGroup(Int64)
    /// Joins a group by a contact's invitation.
    case joinGroup(Int64)
    /// With `keepsHistory`, ends a contact and keeps its items.
    case deleteChat(ChatReference, keepsHistory: Bool)

    // Contacts.
    /// Creates a link for one contact.
    case invite(user: Int64)
    /// Looks up the target of a link.
    case connectionPlan(user: Int64, link: String)
    case connect(user: Int64, APILink)
    case securityCode(contact: Int64)
    /// Digits and spaces; nil resets the verification.
    case verifyCode(contact: Int64, String?)
    /// Even if the core does not require it.
    case renewKeys(contact: Int64)
    /// Moves to a server of the core's choice.
    case moveQueue(contact: Int64)
    case createAddress(user: Int64)
    case showAddress(user: Int64)
    case deleteAddress(user: Int64)
    case addressSettings(user: Int64, acceptsAutomatically: Bool)
    /// Like `addressSettings`, for earlier versions.
    case autoAccept(user: Int64, Bool)
    case acceptRequest(Int64)
    case rejectRequest(Int64)

    // Messages.
    case send(APIChatReference, [APIComposedMessage])
    case createNotes(Int64, [APIComposedMessage])
    case deleteItems(APIChatReference, [ItemID], DeletionMode)
    case markRead(APIChatReference, [ItemID])

    // Files.
    /// Without a path the core chooses the name in its files folder. `encrypted` nil means the global
    /// setting.
    case receiveFile(FileID, approvedRelays: Bool, encrypted: Bool?, path: String?)
    case setFileToReceive(FileID, approvedRelays: Bool, encrypted: Bool?)
    case cancelFile(FileID)
    case upload(user: Int64, path: String)
    case download(user: Int64, link: String, path: String)

    /// One SELECT on the chat database. Interpolate only numbers and fixed words.
    case query(String)
    /// Like `query`, on the agent database.
    case agentQuery(String)
}

extension APICommand {
    /// True if a suspended core does not answer it, because it needs relays or the agent database.
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

/// A range of a chat's history.
public enum APIPage: Hashable, Sendable {
    case last(Int)
    case before(ItemID, count: Int)
    case around(ItemID, count: Int)
}

/// A message to send (`ComposedMessage` of the chat API).
public struct APIComposedMessage: Hashable, Sendable {
    /// Absolute path of the CryptoFile, whose last component is the name for recipients; nil for a text.
    public var source: FileSourceLocation?
    public var content: MessageContent
    /// True if the source is a name in the files folder of a core on another machine.
    public var isStored = false
}
