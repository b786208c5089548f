import ChatProtocol

/// Stored records of a network chat, within one transaction.
struct StoredConversation: ConversationRecords {
    let chat: Int64
    let messages: SharedMessageTable
    let network: NetworkTables

    init(_ chat: Int64, _ tables: ProfileTables) {
        self.chat = chat
        messages = tables.sharedMessages
        network = tables.network
    }

    func message(_ key: MessageKey) throws(any Error) -> MessageRecord? {
        try messages.record(of: key, in: chat)
    }

    func isSeen(_ key: MessageKey) throws(any Error) -> Bool { try messages.isSeen(key, in: chat) }

    func description(of key: MessageKey) throws(any Error) -> PartialDescription? {
        try messages.description(of: key, in: chat)
    }

    func descriptionText(of key: MessageKey) throws(any Error) -> String {
        try messages.descriptionText(of: key, in: chat)
    }

    func waitingDescriptions(by author: Author?) throws(any Error) -> Int {
        try messages.waitingDescriptions(by: author, in: chat)
    }

    func transfer(of key: MessageKey) throws(any Error) -> InlineTransfer? {
        try network.inlineTransfers.transfer(of: key, in: chat)
    }

    func unaskedTransfers(by author: Author) throws(any Error) -> [MessageKey] {
        try network.inlineTransfers.unasked(by: author, in: chat)
    }

    func member(_ id: MemberID) throws(any Error) -> GroupMember? {
        try network.groups.member(id, of: chat)
    }

    func connection(with id: MemberID) throws(any Error) -> MemberConnection.Phase? {
        try network.memberConnections.row(with: id, in: chat)?.state.phase
    }
}
