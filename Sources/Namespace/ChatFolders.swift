import ChatCore

/// Names of chat folders. Users select chats by these names, so a used name goes to another chat only if the user
/// assigns it.
extension NameIndex {
    /// Root names that no contact gets.
    private static let reservedNames: Set = [
        EntryName(".chatfs"), EntryName(NamedChats.notesFolder), .links,
    ]

    /// Returns the recorded folder of a chat, or creates one named after the chat.
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

    /// Returns the user's alias for a chat as folder name if it is free. Names chosen by others do not rename folders.
    /// - Parameter name: The folder's current name.
    func chosenFolder(of chat: Chat, insteadOf name: EntryName?) throws -> EntryName? {
        guard chat.isNamedByUser else { return nil }
        let wanted = EntryName(of: chat)
        guard wanted != name, !Self.isFixed(wanted), try !isInUse(wanted, in: .root) else { return nil }
        return wanted
    }

    /// Returns true if another chat could take the alias for its folder.
    func isFree(aliasOf chat: Chat) throws -> Bool {
        let alias = EntryName(of: chat)
        return try chat.isNamedByUser && !Self.isFixed(alias) && !isTaken(alias, in: .root)
    }

    /// Reserves the user's alias for a chat, even if its folder has another name.
    func keep(aliasOf chat: Chat) throws {
        if try isFree(aliasOf: chat) { try retire(EntryName(of: chat), in: .root) }
    }

    /// Returns true for fixed folders and names that look like a chat reference.
    private static func isFixed(_ name: EntryName) -> Bool {
        reservedNames.contains(name) || ChatReference(name.description) != nil
    }

    /// Returns true for fixed names, and for names that with or without a leading `@` or `#` belong to another chat.
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
    /// Chats with user aliases first.
    var namedByUserFirst: [Chat] { filter(\.isNamedByUser) + filter { !$0.isNamedByUser } }
}
