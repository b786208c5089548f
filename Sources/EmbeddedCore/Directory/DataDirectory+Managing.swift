import ChatCore
import CoreServices

/// Renaming and leaving. A process that has the profile mounted sees the change at once.
extension DataDirectory {
    /// Renames a profile. Its contacts see the new name, but their folders keep the old one.
    /// - Throws: `.invalidCommand` for a malformed name, `.nameTaken`.
    public func renameProfile(_ profile: Profile, to name: String) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "profile")
        try changeAndSignal { tables in
            if let known = try tables.profiles.profile(named: name), known.id != profile.id {
                throw ChatError(.nameTaken, "There is already a profile \(name).")
            }
            try tables.profiles.rename(profile.id, to: name)
            try tables.network(of: profile.id).introduce(as: name)
            try tables.announce(tables.chats.sides(ofContact: profile.id))
        }
    }

    /// Sets the user's own name for a chat, which no other person sees. Does not check folder names; see
    /// `NamedChats.check`.
    /// - Throws: `.invalidCommand` for a malformed name and for the notes, `.nameTaken` if another chat has
    ///   this alias, `.noSuchChat`.
    ///   chat, `.noSuchChat`.
    public func rename(_ chat: ChatReference, of profile: Profile, to name: String) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "chat")
        try changeAndSignal { tables in
            let id = try Self.id(of: chat, of: profile, tables)
            let isTaken = try tables.chats.all(of: profile.id).contains {
                $0.isNamedByUser && $0.displayName == name && $0.reference != chat
            }
            if isTaken { throw ChatError(.nameTaken, "\(name) is your name for another chat.") }
            try tables.chats.setAlias(name, of: id)
            try tables.announce([ChatSide(profile: profile.id, chat: id)])
        }
    }

    /// Ends a chat. It sends and receives no more, but keeps its contents.
    /// - Throws: `.noSuchChat`, `.invalidCommand` for the notes and for an ended chat.
    public func leave(_ chat: ChatReference, of profile: Profile) throws(ChatError) {
        try changeAndSignal { tables in
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

    /// Shortest and longest time until messages disappear.
    public static let timesToLive: ClosedRange<Duration> = .seconds(1) ... .seconds(10 * 365 * 86_400)

    /// Sets how long new messages of a chat stay, for all its members; nil keeps them. Earlier messages keep
    /// their time. Contacts on the network are told.
    /// - Throws: `.noSuchChat`, `.invalidCommand` for a time outside `timesToLive`, a contact that forbids
    ///   it, or a group on the network.
    public func setTimeToLive(
        _ time: Duration?, in chat: ChatReference, of profile: Profile
    ) throws(ChatError) {
        guard time.map(Self.timesToLive.contains) ?? true else {
            throw ChatError(
                .invalidCommand, "Messages stay for a second at least, and for ten years at most.")
        }
        try changeAndSignal { tables in
            let name = try tables.profiles.name(of: profile.id) ?? profile.displayName
            let id = try tables.chats.id(of: chat, of: profile.id)
            try tables.announce(
                tables.network(of: profile.id).retention.set(time?.components.seconds, in: id, as: name))
        }
    }

    /// Returns the time last set by any party if all parties allow it; nil keeps messages.
    /// - Throws: `.noSuchChat`.
    public func timeToLive(in chat: ChatReference, of profile: Profile) throws(ChatError) -> Duration? {
        try read { tables in
            let id = try tables.chats.id(of: chat, of: profile.id)
            return try tables.network(of: profile.id).retention.timeToLive(of: id).map { .seconds($0) }
        }
    }

    private static func id(
        of chat: ChatReference, of profile: Profile, _ tables: DirectoryTables
    ) throws -> Int64 {
        if case .notes = chat { throw ChatError(.invalidCommand, "Saved notes belong to the profile.") }
        return try tables.chats.id(of: chat, of: profile.id)
    }
}
