import Base
import ChatCore
import JSON

/// An event of the core.
public struct APIEvent: Hashable, Sendable {
    /// The user profile of the event; a database may have several active ones.
    public var userID: Int64?
    public var kind: Kind

    public enum Kind: Hashable, Sendable {
        case newChatItems([APIItem])
        /// Edited, or the file's status changed.
        case chatItemUpdated(APIItem)
        case chatItemsDeleted([APIDeletion])
        /// Deleted by a moderator. Deletions by senders in groups are reported per item, as above.
        case groupChatItemsDeleted(group: Int64, [ItemID])
        /// The description of a file, complete or in part.
        case rcvFileDescrReady(APIItem, APIFileDescription)
        case rcvFileAccepted(APIItem)
        case rcvFileStart(APIItem)
        /// Sizes are of the encrypted file. Here and below, the item is nil for standalone files.
        case rcvFileProgressXFTP(FileID, APIItem?, received: UInt64, total: UInt64)
        case rcvFileComplete(APIItem)
        case rcvStandaloneFileComplete(FileID, path: String)
        case rcvFileSndCancelled(APIItem)
        case rcvFileCancelled(FileID, APIItem?)
        case rcvFileError(FileID, APIItem?, APIError)
        case rcvFileWarning(FileID, APIItem?, APIError)
        case sndFileStart(APIItem)
        case sndFileComplete(APIItem)
        case sndFileRcvCancelled(APIItem)
        case sndFileProgressXFTP(FileID, APIItem?, sent: UInt64, total: UInt64)
        /// A standalone file of several chunks, whose description is a second file.
        case sndFileRedirectStartXFTP(FileID, redirect: FileID)
        case sndFileCompleteXFTP(FileID, APIItem)
        case sndStandaloneFileComplete(FileID, links: [String])
        case sndFileCancelled(FileID, APIItem?)
        case sndFileError(FileID, APIItem?, FileProblem)
        case sndFileWarning(FileID, APIItem?, FileProblem)
        /// A contact or group is new, renamed, ready, or changed otherwise.
        case chatUpdated(APIChatInfo)
        case chatRemoved(ChatReference)
        /// A contact request, or an invitation to this existing group.
        case requestsChanged(APIChatInfo?)
        /// The core is suspended.
        case chatSuspended
        /// Failures without a command, for the log.
        case errors([APIError])
        /// Any other event, by name.
        case other(String)
    }
}

extension APIEvent {
    init(_ json: JSONValue) {
        let type = json.type ?? ""
        userID = json["user"]?["userId"]?.integer
        kind =
            Self.items(type, json) ?? Self.receiving(type, json) ?? Self.sending(type, json)
            ?? Self.chats(type, json) ?? .other(type)
    }

    private static func item(_ json: JSONValue) -> APIItem? {
        (json["chatItem"] ?? json["chatItem_"]).flatMap(APIItem.init(pair:))
    }

    private static func items(_ type: String, _ json: JSONValue) -> Kind? {
        switch type {
        case "newChatItems":
            return .newChatItems((json["chatItems"]?.elements ?? []).compactMap(APIItem.init(pair:)))
        case "chatItemUpdated": return item(json).map(Kind.chatItemUpdated)
        case "chatItemsDeleted":
            return .chatItemsDeleted(APIDeletion.all(json))
        case "groupChatItemsDeleted":
            guard let group = json["groupInfo"]?["groupId"]?.integer else { return nil }
            let ids = (json["chatItemIDs"]?.elements ?? []).compactMap(\.integer)
            return .groupChatItemsDeleted(group: group, ids.map(ItemID.init))
        case "chatError", "chatCmdError": return json["chatError"].map { .errors([APIError($0)]) }
        case "chatErrors": return .errors((json["chatErrors"]?.elements ?? []).map { APIError($0) })
        default: return nil
        }
    }

    private static func receiving(_ type: String, _ json: JSONValue) -> Kind? {
        let item = item(json)
        let received = json["rcvFileTransfer"].flatMap(APIReceivedFile.init)
        guard let file = received?.id ?? item?.file?.id else { return nil }
        switch type {
        case "rcvFileDescrReady":
            let description = json["rcvFileDescr"].flatMap(APIFileDescription.init) ?? received?.description
            guard let item, let description else { return nil }
            return .rcvFileDescrReady(item, description)
        case "rcvFileAccepted": return item.map(Kind.rcvFileAccepted)
        case "rcvFileStart": return item.map(Kind.rcvFileStart)
        case "rcvFileProgressXFTP":
            return .rcvFileProgressXFTP(
                file, item, received: json["receivedSize"]?.size ?? 0, total: json["totalSize"]?.size ?? 1)
        case "rcvFileComplete": return item.map(Kind.rcvFileComplete)
        case "rcvStandaloneFileComplete":
            return .rcvStandaloneFileComplete(file, path: json["targetPath"]?.string ?? received?.path ?? "")
        case "rcvFileSndCancelled", "rcvFileAcceptedSndCancelled": return item.map(Kind.rcvFileSndCancelled)
        case "rcvFileCancelled": return .rcvFileCancelled(file, item)
        case "rcvFileError": return .rcvFileError(file, item, failure(json))
        case "rcvFileWarning": return .rcvFileWarning(file, item, failure(json))
        default: return nil
        }
    }

    private static func failure(_ json: JSONValue) -> APIError {
        (json["agentError"] ?? json["rcvFileError"]).map { APIError($0) } ?? APIError(path: [])
    }

    private static func sending(_ type: String, _ json: JSONValue) -> Kind? {
        let item = item(json)
        guard let file = json["fileTransferMeta"].flatMap(FileID.init(api:)) ?? item?.file?.id else {
            return nil
        }
        switch type {
        case "sndFileStart": return item.map(Kind.sndFileStart)
        case "sndFileComplete": return item.map(Kind.sndFileComplete)
        case "sndFileRcvCancelled": return item.map(Kind.sndFileRcvCancelled)
        case "sndFileProgressXFTP":
            return .sndFileProgressXFTP(
                file, item, sent: json["sentSize"]?.size ?? 0, total: json["totalSize"]?.size ?? 1)
        case "sndFileRedirectStartXFTP":
            let redirect = json["redirectMeta"].flatMap(FileID.init(api:))
            return redirect.map { .sndFileRedirectStartXFTP(file, redirect: $0) }
        case "sndFileCompleteXFTP": return item.map { .sndFileCompleteXFTP(file, $0) }
        case "sndStandaloneFileComplete":
            let links = (json["rcvURIs"]?.elements ?? []).compactMap(\.string)
            return .sndStandaloneFileComplete(file, links: links)
        case "sndFileCancelled": return .sndFileCancelled(file, item)
        case "sndFileError": return .sndFileError(file, item, problem(json))
        case "sndFileWarning": return .sndFileWarning(file, item, problem(json))
        default: return nil
        }
    }

    /// Send failures have only a text.
    private static func problem(_ json: JSONValue) -> FileProblem {
        APIError(path: ["fileSend"], message: json["errorMessage"]?.string).fileProblem
    }

    /// Many events are about contacts and groups; only the contact or group is used.
    private static func chats(_ type: String, _ json: JSONValue) -> Kind? {
        let chat = APIChatInfo(changed: json)
        switch type {
        case "contactDeleted", "groupDeletedUser": return chat.map { .chatRemoved($0.reference.chat) }
        case "receivedContactRequest", "receivedGroupInvitation", "contactRequestRejected",
            "acceptingContactRequest":
            return .requestsChanged(chat)
        case "chatSuspended": return .chatSuspended
        default: return chat.map(Kind.chatUpdated)
        }
    }
}
