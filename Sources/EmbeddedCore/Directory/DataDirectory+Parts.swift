import ChatCore
import Glibc
import Posix

/// Detection of missing parts. The first database lists the others, so that a lost one is reported rather
/// than created anew. All calls block.
extension DataDirectory {
    /// Throws if a directory in use lacks its marker, key file or first database. Needs no key and changes
    /// nothing.
    /// - Parameter hasKey: whether the caller already has the databases' key.
    /// - Throws: `.storage`, naming the parts and the remedy.
    public static func requireParts(_ path: String, hasKey: Bool = false) throws(ChatError) {
        // Opening the directory reports an unreadable one.
        var missing = (try? DirectoryParts(of: path).missingRequiredParts()) ?? []
        if hasKey { missing.removeAll { $0 == keysFile } }
        if !missing.isEmpty { throw DirectoryPart.refusal(lacking: missing) }
    }

    /// Returns the listed databases that are missing or empty, as paths below the directory.
    /// - Throws: `.storage`.
    public func missingParts() throws(ChatError) -> [String] {
        try wrapping {
            let parts = DirectoryParts(of: path)
            func lacking() throws -> [String] {
                try store.read { try $0.parts.all() }.filter { !parts.hasNonEmptyFile($0) }
            }
            let first = try lacking()
            // A profile deleted meanwhile leaves the list before its files go.
            return first.isEmpty ? [] : try lacking().filter(first.contains)
        }
    }

    /// - Throws: `.storage`, naming the missing databases and the remedy.
    func requireRecordedParts() throws(ChatError) {
        let missing = try missingParts()
        if !missing.isEmpty { throw DirectoryPart.refusal(lacking: missing) }
    }

    /// Adds new databases to the list.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func noteParts() throws(ChatError) {
        try wrapping {
            let present = try DirectoryParts(of: path).databases()
            let known = Set(try store.read { try $0.parts.all() })
            let new = present.filter { !known.contains($0) }
            guard !new.isEmpty else { return }
            // Make the databases durable before listing them. Do not open and close their files here:
            // close(2) would drop SQLite's locks of this process.
            try folder.directory.synchroniseFilesystem()
            try store.change { tables in for place in new { try tables.parts.note(place) } }
        }
    }

    /// Removes missing parts from the list; they are created anew. First set aside everything that only they
    /// could decrypt.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func giveUp(parts places: [String]) throws(ChatError) {
        try change { tables in for place in places { try tables.parts.remove(place) } }
    }

    /// Returns the folders that ChatFS keeps for official cores.
    /// - Throws: `.storage`.
    public func officialFolders() throws(ChatError) -> [OfficialFolder] {
        try wrapping { try OfficialFolder.all(in: path) }
    }
}
