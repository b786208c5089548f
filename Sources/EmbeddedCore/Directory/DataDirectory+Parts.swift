import ChatCore
import Glibc
import Posix

/// Which parts a data directory had, and whether they are there. The first database has the list of the others, so that
/// one that is gone is missed and not made anew. All calls block.
extension DataDirectory {
    /// Refuses a directory that lacks its marker, its file of keys or its first database though something was kept in
    /// it. Needs no key and changes nothing.
    /// - Parameter hasKey: whether the caller has the key of its databases already.
    /// - Throws: `.storage`, naming the parts and what to do.
    public static func requireParts(_ path: String, hasKey: Bool = false) throws(ChatError) {
        // What cannot be looked into is for the one who opens it.
        var missing = (try? DirectoryParts(of: path).missingFundamentals()) ?? []
        if hasKey { missing.removeAll { $0 == keysFile } }
        if !missing.isEmpty { throw DirectoryPart.refusal(lacking: missing) }
    }

    /// The databases that were there and are not any more, or are empty; paths below the directory.
    /// - Throws: `.storage`.
    public func missingParts() throws(ChatError) -> [String] {
        try wrapping {
            let parts = DirectoryParts(of: path)
            func lacking() throws -> [String] {
                try store.read { try $0.parts.all() }.filter { !parts.holdsSomething($0) }
            }
            let first = try lacking()
            // A profile that is deleted meanwhile leaves the list before its files go.
            return first.isEmpty ? [] : try lacking().filter(first.contains)
        }
    }

    /// - Throws: `.storage`, naming the databases that are missing and what to do.
    func requireNotedParts() throws(ChatError) {
        let missing = try missingParts()
        if !missing.isEmpty { throw DirectoryPart.refusal(lacking: missing) }
    }

    /// Adds the databases that have come to the list.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func noteParts() throws(ChatError) {
        try wrapping {
            let present = try DirectoryParts(of: path).databases()
            let known = Set(try store.read { try $0.parts.all() })
            let new = present.filter { !known.contains($0) }
            guard !new.isEmpty else { return }
            // No power cut takes away what is on the list. Closing a database's file here would drop the locks that SQLite
            // has on it in this process.
            try folder.directory.synchroniseFilesystem()
            try store.change { tables in for place in new { try tables.parts.note(place) } }
        }
    }

    /// Goes on without parts that are missing: they are made anew. What only they could open is to be set aside before.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func giveUp(parts places: [String]) throws(ChatError) {
        try wrapping {
            try store.change { tables in for place in places { try tables.parts.remove(place) } }
        }
    }

    /// What ChatFS keeps beside official cores.
    /// - Throws: `.storage`.
    public func officialFolders() throws(ChatError) -> [OfficialFolder] {
        try wrapping { try OfficialFolder.all(in: path) }
    }
}
