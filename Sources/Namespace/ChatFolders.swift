import ChatCore

/// Names of the folders of chats. Users select chats by them, so a name that was given once goes to no other chat unless
/// the user gives it to one.
extension NameIndex {
    /// Names of the root that no contact gets.
    private static let reservedNames: Set = [
        EntryName(".chatfs"), EntryName(NamedChats.notesFolder), .links,
    ]

    /// The folder of a chat: the recorded one or a new one, after the name that it has now.
    func folder(of chat: Chat) throws -> Record {
        if let record = try record(of: .chat(chat.reference)) { return record }
        let name =
            try chosenFolder(of: chat, insteadOf: nil)
            ?? freeName(EntryName(of: chat), in: .root) { name in
                switch chat.reference {
                case .notes: name == .links
                case .links: false
                case .direct, .group: try isReserved(name)
                }
            }
        let id = try insert(.chat(chat.reference), name: name, in: .root)
        return Record(id: id, folder: .root, name: name, owner: .chat(chat.reference))
    }

    /// The name that the user gave to a chat, for its folder, when no other has it; a name that others chose moves no
    /// folder.
    /// - Parameter name: its folder's name now.
    func chosenFolder(of chat: Chat, insteadOf name: EntryName?) throws -> EntryName? {
        guard chat.isNamedByUser else { return nil }
        let wanted = EntryName(of: chat)
        guard wanted != name, !Self.isFixed(wanted), try !isInUse(wanted, in: .root) else { return nil }
        return wanted
    }

    /// Whether somebody else can get the alias of a chat for a folder.
    func isFree(aliasOf chat: Chat) throws -> Bool {
        let alias = EntryName(of: chat)
        return try chat.isNamedByUser && !Self.isFixed(alias) && !isTaken(alias, in: .root)
    }

    /// Keeps the user's alias for a chat from everybody else, also where its folder has another name.
    func keep(aliasOf chat: Chat) throws {
        if try isFree(aliasOf: chat) { try retire(EntryName(of: chat), in: .root) }
    }

    /// The fixed folders, and the form of a reference.
    private static func isFixed(_ name: EntryName) -> Bool {
        reservedNames.contains(name) || ChatReference(name.description) != nil
    }

    /// Also a name that means another chat once `@` or `#` is put before it, or taken off it.
    private func isReserved(_ name: EntryName) throws -> Bool {
        if Self.isFixed(name) { return true }
        let signs = [UInt8(ascii: "@"), UInt8(ascii: "#")]
        if let first = name.bytes.first, signs.contains(first),
            try isTaken(EntryName(Array(name.bytes.dropFirst())), in: .root)
        {
            return true
        }
        return try signs.contains { try isTaken(EntryName([$0] + name.bytes), in: .root) }
    }
}

extension [Chat] {
    /// Names that users gave go before those that others chose.
    var namedByUserFirst: [Chat] { filter(\.isNamedByUser) + filter { !$0.isNamedByUser } }
}
