import ChatProtocol

/// What is stored of a chat on the network, within one transaction.
struct StoredConversation: ConversationRecords {
    let chat: Int64
    let messages: SharedMessageTable
    let groups: GroupTable
    let memberConnections: MemberConnectionTable

    func message(_ key: MessageKey) throws(any Error) -> MessageRecord? {
        try messages.record(of: key, in: chat)
    }

    func isSeen(_ key: MessageKey) throws(any Error) -> Bool { try messages.isSeen(key, in: chat) }

    func description(of key: MessageKey) throws(any Error) -> PartialDescription? {
        try messages.description(of: key, in: chat)
    }

    var waitingDescriptions: Int { get throws(any Error) { try messages.waitingDescriptions(in: chat) } }

    func member(_ id: MemberID) throws(any Error) -> GroupMember? { try groups.member(id, of: chat) }

    func connection(with id: MemberID) throws(any Error) -> MemberConnection.Phase? {
        try memberConnections.row(with: id, in: chat)?.state.phase
    }
}
