import Base
import ChatCore
import ChatProtocol

/// How long messages stay, as others want it: a line in the log of the chat says so, for nothing else would.
extension ProfileChange {
    /// A contact says who they are, and with it how long messages are to stay: not behind the user's back. Before it is
    /// stored that they have said so.
    func follow(_ contact: ContactProfile, in side: ChatSide) throws {
        if try tables.retention.follow(contact, in: side.chat) { return }
        try writeRetention(contact.timeToStay, by: contact.displayName, to: side)
    }

    /// The same of those who own a group.
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
