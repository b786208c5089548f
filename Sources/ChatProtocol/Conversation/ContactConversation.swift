import Base

/// A direct chat as a state machine without I/O: decides the effects of received messages
/// (`ConversationEffect`).
///
/// | state | event | next state |
/// |---|---|---|
/// | open | x.direct.del | ended |
/// | open | anything else | open |
/// | ended | any | ended; only records messages as seen |
///
/// Messages may be repeated without effect. Events about a message (description, update, deletion) may
/// precede it.
public struct ContactConversation: Hashable, Sendable {
    /// The contact's last profile.
    public private(set) var profile: ContactProfile
    /// Chat protocol versions of the contact's program, as far as known.
    public private(set) var versions: ClosedRange<UInt16>?
    public private(set) var hasEnded: Bool

    /// - Parameter versions: versions in the message with the profile.
    public init(profile: ContactProfile, versions: ClosedRange<UInt16>?, hasEnded: Bool = false) {
        self.profile = profile
        self.versions = versions
        self.hasEnded = hasEnded
    }

    /// Processes one element of a body and returns its effects.
    /// - Parameter time: time of the delivering server.
    /// - Throws: errors of `records`; the state is unchanged then.
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

    /// Direct chats do not name the author of the target message.
    private func target<Records>(
        of reaction: MessageEvent.Reaction, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> Author {
        try intake.records.message(MessageKey(reaction.id, by: .own)) == nil ? .contact : .own
    }
}
