import Base
import EmbeddedCore

/// The files of a data directory that an archive contains. Excludes files that a mount creates again, logs, and damaged
/// copies, whose keys are stored next to them.
enum ArchivedFile {
    static let keys = "keys"
    static let database = "chatfs.db"

    /// Returns whether a name is a known place of such a file.
    static func isKnown(_ name: EntryName) -> Bool {
        let parts = name.parts
        if parts.count == 1 { return [keys, database].contains(parts[0]) }
        if OfficialFolder.isName(parts[0]) { return isOfKnownCore(Array(parts[1...])) }
        guard parts.count >= 3, parts[0] == "profiles", isNumber(parts[1]) else { return false }
        let rest = Array(parts[2...])
        if ProfileFolders.databases.contains(rest.joined(separator: "/")) { return true }
        return rest.count == 2 && rest[0] == "files" ? isRandom(rest[1]) : isOfEveryProfile(rest)
    }

    /// Files next to an official core.
    private static func isOfKnownCore(_ parts: [String]) -> Bool {
        if parts == [OfficialFolder.approvals] { return true }
        guard parts.count >= 2, parts[0].hasPrefix("profile-"),
            isNumber(String(parts[0].dropFirst("profile-".count)))
        else { return false }
        let rest = Array(parts[1...])
        if OfficialFolder.databases.contains(rest.joined(separator: "/")) { return true }
        if rest.count == 2, rest[0] == "staging" {
            return rest[1].hasPrefix("kept-") && isNumber(String(rest[1].dropFirst("kept-".count)))
        }
        return isOfEveryProfile(rest)
    }

    /// Files next to the databases of every profile, for any core.
    private static func isOfEveryProfile(_ rest: [String]) -> Bool {
        switch (rest.count, rest[0]) {
        // The numbers of pinned and completely received files.
        case (1, "pinned"), (1, "unfinished"): true
        case (3, "outbox"):
            rest[1] == "spool" && isRandom(rest[2].split(separator: ".").first.map(String.init) ?? "")
                && [32, 32 + ".second".count].contains(rest[2].count)
                && (rest[2].count == 32 || rest[2].hasSuffix(".second"))
        case (3, "staging"):
            rest[1].hasPrefix("links-") && isNumber(String(rest[1].dropFirst("links-".count)))
                && isRandom(rest[2])
        default: false
        }
    }

    /// Returns whether the file is a sealed database.
    static func isDatabase(_ name: EntryName) -> Bool {
        name.text == database || name.text.hasSuffix(".sqlite")
    }

    private static func isNumber(_ text: String) -> Bool {
        (1...18).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns whether the text is a random name: 16 bytes in hexadecimal.
    private static func isRandom(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
