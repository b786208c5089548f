import Base

/// A chat with one person: what follows from what they send. A machine without input and output; `ConversationEffect`
/// says what is to be done with what it decides.
///
/// | state | on | becomes |
/// |---|---|---|
/// | open | x.direct.del | ended |
/// | open | anything else | open |
/// | ended | anything | ended; nothing follows but that what was seen is remembered |
///
/// Messages may come again (nothing follows), and what belongs to a message (its description, changes, its deletion)
/// before it.
public struct ContactConversation: Hashable, Sendable {
    /// What the other said of themselves last.
    public private(set) var profile: ContactProfile
    /// Which versions of the protocol their program speaks, as far as it has said so.
    public private(set) var versions: ClosedRange<UInt16>?
    public private(set) var hasEnded: Bool

    /// - Parameter versions: of the message that brought the profile.
    public init(profile: ContactProfile, versions: ClosedRange<UInt16>?, hasEnded: Bool = false) {
        self.profile = profile
        self.versions = versions
        self.hasEnded = hasEnded
    }

    /// What follows from one element of a body.
    /// - Parameter time: of the server that delivered it.
    /// - Throws: what `records` throw; nothing has changed then.
    public mutating func receive<Records: ConversationRecords>(
        _ element: ChatBody.Element, at time: Timestamp, from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        let intake = MessageIntake(author: .contact, time: time, records: records)
        switch element {
        case .unreadable: return []
        case .chunk(let chunk): return hasEnded ? [] : try intake.chunk(chunk)
        case .message(let message):
            if let versions = message.versions { self.versions = versions }
            let key = message.id.map { MessageKey($0, by: .contact) }
            if let key, try records.isSeen(key) { return [] }
            let remembered = key.map { [ConversationEffect.seen($0)] } ?? []
            guard !hasEnded else { return remembered }
            let receipt: [ConversationEffect] = message.event.wantsReceipt ? [.receiptDue] : []
            return try effects(of: message, intake) + remembered + receipt
        }
    }

    private mutating func effects<Records>(
        of message: ChatMessage, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> [ConversationEffect] {
        switch message.event {
        case .information(let profile):
            guard profile != self.profile else { return [] }
            self.profile = profile
            return [.profileChanged(profile)]
        case .message(let new): return try intake.new(message.id, new)
        case .description(let id, let part): return try intake.describe(id, part)
        case .update(let update): return try intake.update(update)
        case .deletion(let id, _): return try intake.delete(id)
        case .reaction(let reaction): return try intake.react(reaction, to: target(of: reaction, intake))
        case .fileCancelled(let id): return try intake.cancelFile(id)
        case .fileAccepted(let id, _): return [.fileAccepted(id)]
        case .group(.invitation(let invitation)): return [.invitedToGroup(invitation)]
        case .contactDeleted:
            hasEnded = true
            return [.ended(.contactDeletedIt)]
        case .contactRequest, .nothingToSay, .group, .unknown: return []
        }
    }

    /// In a chat of two it is not said whose message is meant.
    private func target<Records>(
        of reaction: MessageEvent.Reaction, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> Author {
        try intake.records.message(MessageKey(reaction.id, by: .own)) == nil ? .contact : .own
    }
}
