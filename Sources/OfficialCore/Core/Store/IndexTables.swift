import Store

/// The tables of the index, within one transaction.
struct IndexTables {
    let chats: ChatTable
    let items: ItemTable
    let walks: WalkTable
    let sends: SendTable
    let keptCopies: KeptCopyTable
    let identity: IdentityTable

    init(_ connection: Connection) {
        chats = ChatTable(connection)
        items = ItemTable(connection)
        walks = WalkTable(connection)
        sends = SendTable(connection)
        keptCopies = KeptCopyTable(connection)
        identity = IdentityTable(connection)
    }
}
