import ChatCore
import CoreServices

/// Renaming and leaving. Whoever has the profile mounted learns of it at once.
extension DataDirectory {
    /// Gives a profile another name. Its contacts see it; their folders keep their names.
    /// - Throws: `.invalidCommand` for the form of the name, `.nameTaken`.
    public func renameProfile(_ profile: Profile, to name: String) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "profile")
        try changeForOthers { tables in
            if let known = try tables.profiles.profile(named: name), known.id != profile.id {
                throw ChatError(.nameTaken, "There is already a profile \(name).")
            }
            try tables.profiles.rename(profile.id, to: name)
            try tables.network(of: profile.id).introduce(as: name)
            try tables.announce(tables.chats.sides(ofContact: profile.id))
        }
    }

    /// Gives a chat the name that its user wants to see; nobody else sees it. `NamedChats.check` knows the folders that
    /// have the name.
    /// - Throws: `.invalidCommand` for the form of the name and for the notes, `.nameTaken` for the alias of another
    ///   chat, `.noSuchChat`.
    public func rename(_ chat: ChatReference, of profile: Profile, to name: String) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "chat")
        try changeForOthers { tables in
            let id = try Self.id(of: chat, of: profile, tables)
            let isTaken = try tables.chats.all(of: profile.id).contains {
                $0.isNamedByUser && $0.displayName == name && $0.reference != chat
            }
            if isTaken { throw ChatError(.nameTaken, "\(name) is your name for another chat.") }
            try tables.chats.setAlias(name, of: id)
            try tables.announce([ChatSide(profile: profile.id, chat: id)])
        }
    }

    /// Ends a chat: nothing goes in or comes any more, what it holds stays.
    /// - Throws: `.noSuchChat`, `.invalidCommand` for the notes and for a chat that has ended.
    public func leave(_ chat: ChatReference, of profile: Profile) throws(ChatError) {
        try changeForOthers { tables in
            let id = try Self.id(of: chat, of: profile, tables)
            guard try tables.chats.isOpen(id) else {
                throw ChatError(.invalidCommand, "This chat has ended already.")
            }
            let network = tables.network(of: profile.id)
            try network.part(fromContactOf: id, at: tables.elapsed)
            for item in try network.inlineTransfers.giveUp(in: id, .leftBeforeSent) {
                try tables.inbox.post(.failed(item), to: ChatSide(profile: profile.id, chat: id))
            }
            try tables.announce(tables.chats.leave(id))
        }
    }

    /// The longest time that messages stay before they disappear, and the shortest.
    public static let timesToLive: ClosedRange<Duration> = .seconds(1) ... .seconds(10 * 365 * 86_400)

    /// How long messages stay that are sent into a chat from now on, for everybody in it; nil: for good. What was sent
    /// before keeps its time. Who is on the network is told, and sets it too.
    /// - Throws: `.noSuchChat`, `.invalidCommand` for a time outside of `timesToLive`, where a contact does not allow it,
    ///   and for a group on the network.
    public func setTimeToLive(
        _ time: Duration?, in chat: ChatReference, of profile: Profile
    ) throws(ChatError) {
        guard time.map(Self.timesToLive.contains) ?? true else {
            throw ChatError(
                .invalidCommand, "Messages stay for a second at least, and for ten years at most.")
        }
        try changeForOthers { tables in
            let name = try tables.profiles.name(of: profile.id) ?? profile.displayName
            let id = try tables.chats.id(of: chat, of: profile.id)
            try tables.announce(
                tables.network(of: profile.id).retention.set(time?.components.seconds, in: id, as: name))
        }
    }

    /// The value last set by any party, provided all parties concerned allow it; nil means messages are kept.
    /// - Throws: `.noSuchChat`.
    public func timeToLive(in chat: ChatReference, of profile: Profile) throws(ChatError) -> Duration? {
        try wrapping {
            try store.read { tables in
                let id = try tables.chats.id(of: chat, of: profile.id)
                return try tables.network(of: profile.id).retention.timeToLive(of: id).map { .seconds($0) }
            }
        }
    }

    private static func id(
        of chat: ChatReference, of profile: Profile, _ tables: DirectoryTables
    ) throws -> Int64 {
        if case .notes = chat { throw ChatError(.invalidCommand, "Saved notes belong to the profile.") }
        return try tables.chats.id(of: chat, of: profile.id)
    }
}
