import Base

/// Decides the effects of one author's messages, in direct chats and groups alike. Stateless: reads records
/// and returns effects.
struct MessageIntake<Records: ConversationRecords> {
    let author: Author
    let time: Timestamp
    let records: Records
    /// Stored but not shown.
    var isHidden = false
    /// Whether the chat lets the author delete received files.
    var deletesInFull = false

    /// Time after a message in which its author may delete it: official senders stop after 30 h, official
    /// recipients accept 78 h.
    static var deletionWindow: Duration { .seconds(78 * 3600) }

    /// Maximum number of descriptions kept for missing messages, per author and per chat. The second limit is
    /// needed because a forwarder can invent authors.
    static var waitingDescriptionLimits: (ofAuthor: Int, inChat: Int) { (64, 1024) }

    func new(_ id: SharedMessageID?, _ message: NewMessage) throws(Records.Failure) -> [ConversationEffect] {
        // Without an id it cannot be referred to, nor told from a repetition.
        guard let id else { return [] }
        let key = MessageKey(id, by: author)
        let received = IncomingMessage(key, message, at: time, isHidden: isHidden)
        switch try records.message(key)?.state {
        case nil: return try [.received(received)] + content(key, of: message.file)
        case .onlyChanged: return try [.completed(received)] + content(key, of: message.file)
        case .present, .deleted: return []
        }
    }

    private func content(_ key: MessageKey, of file: FileInvitation?) throws(Records.Failure)
        -> [ConversationEffect]
    {
        // A hidden message needs no file.
        if isHidden { return [] }
        switch file?.way {
        case .described(let part): return try description(key, part)
        case .sentInline where file?.transfer != nil: return try acceptTransfer(key)
        case nil, .sentInline, .offeredInline, .unsupported: return []
        }
    }

    /// Processes a description inside a message. Further parts, or all, may have come before.
    private func description(_ key: MessageKey, _ part: DescriptionPart) throws(Records.Failure)
        -> [ConversationEffect]
    {
        let partial = try records.description(of: key) ?? PartialDescription()
        if partial.isComplete { return [.described(key, text: try records.descriptionText(of: key))] }
        return try take(part, of: key, after: partial, isWaiting: false)
    }

    func describe(_ id: SharedMessageID, _ part: DescriptionPart) throws(Records.Failure)
        -> [ConversationEffect]
    {
        let key = MessageKey(id, by: author)
        let isWaiting: Bool
        switch try records.message(key) {
        case nil: isWaiting = true
        case let known? where known.state == .onlyChanged: isWaiting = true
        // The message has no file or is not shown.
        case let known? where known.state == .deleted || !known.hasFile: return []
        case .some: isWaiting = false
        }
        let partial = try records.description(of: key) ?? PartialDescription()
        if isWaiting, partial.count == 0, try !isSpaceForDescription() { return [] }
        return try take(part, of: key, after: partial, isWaiting: isWaiting)
    }

    /// Processes a part. The whole text is assembled only once, so a part's cost does not depend on earlier
    /// ones.
    private func take(
        _ part: DescriptionPart, of key: MessageKey, after partial: PartialDescription, isWaiting: Bool
    ) throws(Records.Failure) -> [ConversationEffect] {
        var partial = partial
        switch partial.take(part) {
        case .known, .refused: return []
        case .grew: return [.descriptionGrew(key, partial, part)]
        case .completed:
            let grown = ConversationEffect.descriptionGrew(key, partial, part)
            if isWaiting { return [grown] }
            let earlier = part.number == 1 ? "" : try records.descriptionText(of: key)
            return [grown, .described(key, text: earlier + part.text)]
        }
    }

    private func isSpaceForDescription() throws(Records.Failure) -> Bool {
        let limits = Self.waitingDescriptionLimits
        guard try records.waitingDescriptions(by: author) < limits.ofAuthor else { return false }
        return try records.waitingDescriptions(by: nil) < limits.inChat
    }

    func update(_ update: MessageUpdate) throws(Records.Failure) -> [ConversationEffect] {
        guard !isHidden else { return [] }
        let key = MessageKey(update.id, by: author)
        switch try records.message(key)?.state {
        case .deleted: return []
        case .present, .onlyChanged: return [.changed(key, update, at: time, isNew: false)]
        // As in official apps.
        case nil: return [.changed(key, update, at: time, isNew: true)]
        }
    }

    func delete(_ id: SharedMessageID) throws(Records.Failure) -> [ConversationEffect] {
        let key = MessageKey(id, by: author)
        let deleted = ConversationEffect.deleted(key, at: time, deletesInFull ? .authorInFull : .author)
        guard let known = try records.message(key) else { return [deleted] }
        guard known.state != .deleted, time <= known.time.advanced(by: Self.deletionWindow) else { return [] }
        return [deleted]
    }

    func cancelFile(_ id: SharedMessageID) throws(Records.Failure) -> [ConversationEffect] {
        let key = MessageKey(id, by: author)
        guard let known = try records.message(key), known.state != .deleted, known.hasFile else { return [] }
        return [.fileCancelled(key)]
    }

    func react(_ reaction: MessageEvent.Reaction, to target: Author) throws(Records.Failure)
        -> [ConversationEffect]
    {
        let key = MessageKey(reaction.id, by: target)
        guard !reaction.emoji.isEmpty, try records.message(key)?.state == .present else { return [] }
        return [.reacted(key, emoji: reaction.emoji, by: author, isAdded: reaction.isAdded)]
    }

    /// Accepts an unrequested transfer, since it cannot be requested later. The oldest unfinished one gives
    /// way, which bounds the disk space.
    private func acceptTransfer(_ key: MessageKey) throws(Records.Failure) -> [ConversationEffect] {
        let unfinished = try records.unaskedTransfers(by: author)
        let excess = max(0, unfinished.count + 1 - ProtocolLimits.unfinishedTransfers)
        return unfinished.prefix(excess).map { .transferFailed($0, .overtaken) } + [.transferBegan(key)]
    }

    func chunk(_ chunk: InlineChunk) throws(Records.Failure) -> [ConversationEffect] {
        guard chunk.number > 0 else { return try cancelFile(chunk.id) }
        let key = MessageKey(chunk.id, by: author)
        guard try records.message(key)?.state == .present, var transfer = try records.transfer(of: key) else {
            return []
        }
        switch transfer.take(chunk) {
        case .known: return []
        case .grew: return [.transferGrew(key, transfer, bytes: chunk.bytes)]
        case .failed(let failure): return [.transferFailed(key, failure)]
        }
    }
}
