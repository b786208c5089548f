import Base
import ChatCore
import JSON

/// The core's answer to an executed command. Unused alternatives and fields are not decoded.
public enum APIResponse: Hashable, Sendable {
    case activeUser(APIUser)
    case usersList([APIUser])
    case done
    case chatStarted
    case chatRunning
    case chatStopped
    case version(APIVersion)
    case chats([APIChatInfo])
    case chatPage(APIChatPage)
    /// Renamed or left.
    case chatUpdated(APIChatInfo)
    /// Its last state, or the new one if its history stays.
    case chatDeleted(APIChatInfo)
    case newChatItems([APIItem])
    case rcvFileAccepted(APIItem)
    /// Already cancelled by the sender.
    case rcvFileAcceptedSndCancelled(FileID)
    case rcvFileCancelled(FileID, APIItem?)
    case sndFileCancelled(FileID, APIItem?)
    case chatItemsDeleted([APIDeletion])
    case sndStandaloneFileCreated(FileID)
    case rcvStandaloneFileCreated(FileID)
    /// Rows as text: the first has the column names; values are separated by `|`.
    case rows([String])
    /// XFTP relays that the user has configured and enabled, presets included.
    case relays([String])
    case network(APINetworkSettings)
    /// With the number of the connection that waits for the link's use.
    case invitation(APILink, connection: Int64)
    case plan(APIConnectionPlan)
    case connecting(APIConnecting)
    case security(ContactSecurity)
    /// Whether the contact is now verified, and the current code.
    case verification(Bool, code: String)
    case addressCreated
    case address(APIAddress)
    /// The contact of an accepted request.
    case accepting(APIChatInfo)
    /// The group of an accepted invitation.
    case joining(APIChatInfo)
    case archiveExported([APIArchiveProblem])
    case archiveImported([APIArchiveProblem])
    /// An unknown answer, by name.
    case other(String)

    init(_ json: JSONValue) {
        let type = json.type ?? ""
        self = Self.decode(type, json) ?? Self.people(type, json) ?? .other(type)
    }

    private static func decode(_ type: String, _ json: JSONValue) -> APIResponse? {
        let item = { json["chatItem"].flatMap(APIItem.init(pair:)) }
        let itemIfAny = { (json["chatItem_"] ?? json["chatItem"]).flatMap(APIItem.init(pair:)) }
        let sent = { json["fileTransferMeta"].flatMap(FileID.init(api:)) }
        let received = { json["rcvFileTransfer"].flatMap(FileID.init(api:)) }
        switch type {
        case "activeUser": return json["user"].flatMap(APIUser.init).map(APIResponse.activeUser)
        case "usersList":
            let users = json["users"]?.elements.compactMap { $0["user"].flatMap(APIUser.init) }
            return users.map(APIResponse.usersList)
        case "cmdOk": return .done
        case "chatStarted": return .chatStarted
        case "chatRunning": return .chatRunning
        case "chatStopped": return .chatStopped
        case "versionInfo": return json["versionInfo"].map { .version(APIVersion($0)) }
        case "apiChats":
            return .chats(
                (json["chats"]?.elements ?? []).compactMap { $0["chatInfo"].flatMap(APIChatInfo.init(info:)) }
            )
        case "apiChat": return json["chat"].flatMap(APIChatPage.init).map(APIResponse.chatPage)
        case "contactAliasUpdated", "groupAliasUpdated", "leftMemberUser":
            return APIChatInfo(changed: json).map(APIResponse.chatUpdated)
        case "contactDeleted", "groupDeletedUser":
            return APIChatInfo(changed: json).map(APIResponse.chatDeleted)
        case "newChatItems":
            return .newChatItems((json["chatItems"]?.elements ?? []).compactMap(APIItem.init(pair:)))
        case "rcvFileAccepted": return item().map(APIResponse.rcvFileAccepted)
        case "rcvFileAcceptedSndCancelled": return received().map(APIResponse.rcvFileAcceptedSndCancelled)
        case "rcvFileCancelled": return received().map { .rcvFileCancelled($0, itemIfAny()) }
        case "sndFileCancelled": return sent().map { .sndFileCancelled($0, itemIfAny()) }
        case "chatItemsDeleted":
            return .chatItemsDeleted(APIDeletion.all(json))
        case "sndStandaloneFileCreated": return sent().map(APIResponse.sndStandaloneFileCreated)
        case "rcvStandaloneFileCreated": return received().map(APIResponse.rcvStandaloneFileCreated)
        // The first is the spelling of 6.4.
        case "sQLResult", "sqlResult": return .rows((json["rows"]?.elements ?? []).compactMap(\.string))
        case "userServers": return .relays(relays(json))
        case "networkConfig": return json["networkConfig"].map { .network(APINetworkSettings($0)) }
        case "archiveExported": return .archiveExported(APIArchiveProblem.all(json))
        case "archiveImported": return .archiveImported(APIArchiveProblem.all(json))
        default: return nil
        }
    }

    private static func people(_ type: String, _ json: JSONValue) -> APIResponse? {
        let connection = json["connection"]?["pccConnId"]?.integer
        let chat = APIChatInfo(changed: json)
        switch type {
        case "invitation":
            guard let link = json["connLinkInvitation"].flatMap(APILink.init), let connection else {
                return nil
            }
            return .invitation(link, connection: connection)
        case "connectionPlan": return APIConnectionPlan(json).map(APIResponse.plan)
        case "sentConfirmation", "sentInvitation": return connection.map { .connecting(.begun($0)) }
        case "contactAlreadyExists", "startedConnectionToContact", "sentInvitationToContact",
            "startedConnectionToGroup":
            return chat.map { .connecting(.known($0)) }
        case "connectionVerified":
            guard let isVerified = json["verified"]?.bool, let code = json["expectedCode"]?.string else {
                return nil
            }
            return .verification(isVerified, code: code)
        case "contactCode": return ContactSecurity(json).map(APIResponse.security)
        case "userContactLinkCreated": return .addressCreated
        case "userContactLink", "userContactLinkUpdated":
            return json["contactLink"].flatMap(APIAddress.init).map(APIResponse.address)
        case "acceptingContactRequest": return chat.map(APIResponse.accepting)
        case "userAcceptedGroupSent":
            return json["groupInfo"].flatMap(APIChatInfo.init(group:)).map(APIResponse.joining)
        default: return nil
        }
    }

    private static func relays(_ json: JSONValue) -> [String] {
        (json["userServers"]?.elements ?? []).flatMap { operatorServers -> [JSONValue] in
            let isEnabled = operatorServers["operator"]?["enabled"]?.bool ?? true
            return isEnabled ? operatorServers["xftpServers"]?.elements ?? [] : []
        }
        .filter { $0["enabled"]?.bool != false && $0["deleted"]?.bool != true }
        .compactMap { $0["server"]?.string }
    }
}

/// A page of a chat's history.
public struct APIChatPage: Hashable, Sendable {
    public var chat: APIChatInfo
    /// Oldest first, without items that could not be decoded.
    public var items: [APIItem]
    /// Number of items from the core; 0 means the end of the history.
    public var count: Int

    init?(_ json: JSONValue) {
        guard let info = json["chatInfo"].flatMap(APIChatInfo.init(info:)) else { return nil }
        chat = info
        let elements = json["chatItems"]?.elements ?? []
        items = elements.compactMap { APIItem($0, in: info) }
        count = elements.count
    }
}

public struct APIVersion: Hashable, Sendable {
    public var version: String

    public init(version: String) { self.version = version }

    init(_ json: JSONValue) { version = json["version"]?.string ?? "?" }

    /// ChatFS supports 6.4 and later.
    public var isSupported: Bool {
        let numbers = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
        return !numbers.lexicographicallyPrecedes([6, 4])
    }
}

public struct APINetworkSettings: Hashable, Sendable {
    /// True if the core uses a SOCKS proxy, so relays do not see the user's address.
    public var hidesAddress: Bool

    init(_ json: JSONValue) {
        let mode = json["socksMode"]?.type
        hidesAddress = json["socksProxy"] != nil && mode != "onion"
    }
}

extension ContactSecurity {
    /// Decodes a contact with its code.
    fileprivate init?(_ json: JSONValue) {
        guard let code = json["connectionCode"]?.string else { return nil }
        let connection = json["contact"]?["activeConn"]
        let isPostQuantum = connection.map { connection in
            // Missing until a message was encrypted in that direction.
            connection["pqSndEnabled"]?.bool == true && connection["pqRcvEnabled"]?.bool == true
        }
        let isVerified = connection?["connectionCode"]?["securityCode"]?.string != nil
        self.init(
            code: code, protection: isPostQuantum.map { $0 ? .postQuantum : .standard },
            verification: isVerified ? .verified : .unverified)
    }
}
