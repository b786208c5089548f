import Base
import ChatCore
import ChatProtocol

/// Changes of the time that messages stay, made by other people. The chat's log shows them.
extension ProfileChange {
    /// Applies a contact's profile, and logs a changed retention time. Call it before storing the profile.
    func follow(_ contact: ContactProfile, in side: ChatSide) throws {
        if try tables.retention.follow(contact, in: side.chat) { return }
        try writeRetention(contact.timeToStay, by: contact.displayName, to: side)
    }

    /// Logs a retention time changed by a group's owner.
    func follow(_ group: GroupProfile, in side: ChatSide) throws {
        guard try tables.retention.timeToLive(of: side.chat) != group.preferences.timeToStay else { return }
        try writeRetention(group.preferences.timeToStay, by: group.displayName, to: side)
    }

    private func writeRetention(_ seconds: Int64?, by name: String, to side: ChatSide) throws {
        let id = SharedMessageID(from: SystemRandomSource())
        var line = MessageLine(.retention, of: id, at: time, .received, by: name)
        line.timeToLive = seconds
        try write(line, to: side)
    }
}
