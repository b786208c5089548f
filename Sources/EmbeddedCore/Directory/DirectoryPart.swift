import ChatCore
import Posix

/// A part of a data directory and the effect of its absence. Opening, verification and archives use this
/// table; `docs/reference/formats.md` prints it.
public struct DirectoryPart: Hashable, Sendable {
    public enum Absence: String, Hashable, Sendable, CaseIterable {
        /// Opening fails: the contents exist nowhere else.
        case refused
        /// Opening fails until `chatfs verify --fix` gives it up.
        case replaceable
        /// Created anew without loss.
        case renewed
        /// Undetectable; its contents are lost.
        case unnoticed
    }

    /// Path below the data directory. `N` stands for a number, `HASH` for an official core's hash.
    public let place: String
    /// Its contents, a noun phrase.
    public let content: String
    public let absence: Absence

    public static let all =
        [
            DirectoryPart(
                PrivateFolder.marker, "the word that the folder is a data directory ('chatfs data')", .refused
            ),
            DirectoryPart(DataDirectory.keysFile, "the key of all its databases", .refused),
            DirectoryPart(
                DataDirectory.databaseFile, "its profiles, chats, messages and the keys of their files",
                .refused),
        ]
        + profile.map { DirectoryPart("profiles/N/\($0.name)", $0.content, .replaceable) }
        + [
            DirectoryPart(
                "official-HASH/\(OfficialFolder.approvals)", "the approved relays of an official core",
                .replaceable)
        ]
        + officialProfile.map {
            DirectoryPart("official-HASH/profile-N/\($0.name)", $0.content, .replaceable)
        } + [
            DirectoryPart("profiles/N/files", "files, each of which is then missing by itself", .renewed),
            DirectoryPart("profiles/N/staging", "files on their way into the core", .renewed),
            DirectoryPart("profiles/N/incoming", "downloads that are not complete", .renewed),
            DirectoryPart("version", "the form of the directory", .renewed),
            DirectoryPart(DataDirectory.madeMark, "the word that the first database was made", .renewed),
            DirectoryPart(DataDirectory.useFile, "a lock", .renewed),
            DirectoryPart("bell", "the signal between processes", .renewed),
            DirectoryPart("DATABASE-shm", "the index of a database's log", .renewed),
            DirectoryPart(
                "DATABASE-wal", "a database's log: the transactions that are not in the database yet",
                .unnoticed),
        ]

    private static let profile: [(name: String, content: String)] = [
        ("names.sqlite", "the names and numbers of entries"),
        ("keep.sqlite", "the rules of 'chatfs keep'"),
        ("links.sqlite", "the folder of links, with the keys of its files"),
        ("agent.sqlite", "the connections to people on the network"),
        ("outbox/journal.sqlite", "the drafts, with their keys"),
    ]

    private static let officialProfile: [(name: String, content: String)] =
        [
            ("index.sqlite", "the keys of the copies that only ChatFS has")
        ] + profile.filter { $0.name != "agent.sqlite" }

    private init(_ place: String, _ content: String, _ absence: Absence) {
        (self.place, self.content, self.absence) = (place, content, absence)
    }

    /// Finds the part at a path below a data directory; nil without one.
    public init?(at path: String) {
        let general = path.pathNames.enumerated().map { index, name in
            if index == 1, Int64(name) != nil { return "N" }
            if index == 0, OfficialFolder.isName(name) { return "official-HASH" }
            if index == 1, name.hasPrefix("profile-"), Int64(name.dropFirst("profile-".count)) != nil {
                return "profile-N"
            }
            return name
        }.joined(separator: "/")
        guard let part = Self.all.first(where: { $0.place == general }) else { return nil }
        self = part
    }

    /// Returns a sentence that names missing parts, their contents and the remedy.
    /// - Parameter paths: paths below the data directory; not empty.
    public static func sentence(lacking paths: [String]) -> String {
        let named = paths.map { path in
            DirectoryPart(at: path).map { "\(path) (\($0.content))" } ?? path
        }.joined(separator: " and ")
        let isReplaceable = paths.allSatisfy { DirectoryPart(at: $0)?.absence == .replaceable }
        let them = paths.count == 1 ? "it" : "them"
        let otherwise =
            isReplaceable
            ? "'chatfs verify --fix' goes on without \(them)."
            : "'chatfs import' makes another directory of an archive (--data)."
        return
            "The data directory lacks \(named); nothing in it was changed. Put \(them) back from a backup. \(otherwise)"
    }

    static func refusal(lacking paths: [String]) -> ChatError {
        ChatError(.storage, sentence(lacking: paths))
    }
}
