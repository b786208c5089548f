import Agent
import Base
import ChatCore
import ChatProtocol

/// Groups on the network: becoming a member, and what nothing can be sent for.
extension ProfileChange {
    /// The chat of a group that this profile joins over a connection; the one that is there already.
    /// - Parameter host: who takes it in, as far as is known.
    func join(
        _ group: GroupConversation, over id: ConnectionID, host: GroupMember, of profile: Int64,
        at time: Timestamp
    ) throws {
        guard try tables.groups.group(over: id) == nil else { return }
        try tables.people.insert(id)
        let chat = try tables.chats.insertGroup(named: group.profile.displayName, of: profile, at: time)
        try tables.groups.insert(group, chat: chat, over: id)
        try tables.groups.keep(host, of: chat)
        try tables.chats.setRefusal(StoredChatRefusal(group), of: chat)
        try post(.chatUpdated, to: ChatSide(profile: profile, chat: chat))
    }

    /// What the group has become.
    func keep(_ group: GroupConversation, of side: ChatSide) throws {
        try tables.groups.keep(group, of: side.chat)
        try tables.chats.setRefusal(StoredChatRefusal(group), of: side.chat)
        try post(.chatUpdated, to: side)
    }
}

extension StoredChatRefusal {
    /// nil where files may be sent.
    fileprivate init?(_ group: GroupConversation) {
        switch group.membership {
        case .waiting: self = .waiting
        case .joined where !group.own.role.mayWrite: self = .reader
        case .joined where !group.maySendFiles: self = .noFiles
        // What has ended says so by itself.
        case .joined, .ended: return nil
        }
    }
}

extension StoredChatEnding {
    init(_ end: ChatEnd) {
        switch end {
        case .contactDeletedIt: self = .contactLeft
        case .removedFromGroup: self = .removed
        case .groupDeleted: self = .groupDeleted
        case .refusedByGroup: self = .refused
        }
    }
}
