import Posix

/// The folder with ChatFS's data for one official core (`official-HASH`). Each profile has a subfolder.
public struct OfficialFolder: Hashable, Sendable {
    /// Name below the data directory.
    public let name: String
    /// Numbers of its profiles.
    public let profiles: [Int64]

    /// Possible databases below a profile's folder.
    public static let databases = [
        "index.sqlite", "names.sqlite", "keep.sqlite", "links.sqlite", "outbox/journal.sqlite",
    ]
    /// The database beside the profiles.
    public static let approvals = "approvals.sqlite"
    private static let prefix = "official-"

    public init(name: String, profiles: [Int64]) {
        (self.name, self.profiles) = (name, profiles)
    }

    /// Whether `name` has the form of such a folder.
    public static func isName(_ name: String) -> Bool {
        name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 16
            && name.utf8.dropFirst(prefix.utf8.count).allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
            }
    }

    /// Returns the folders in a data directory, by name. Blocks.
    public static func all(in directory: String) throws(SystemError) -> [OfficialFolder] {
        var found: [OfficialFolder] = []
        for name in try PrivateFolder.names(at: directory) where isName(name) {
            let numbers = try PrivateFolder.names(at: "\(directory)/\(name)").compactMap { inner in
                inner.hasPrefix("profile-") ? Int64(inner.dropFirst("profile-".count)) : nil
            }
            found.append(OfficialFolder(name: name, profiles: numbers.sorted()))
        }
        return found
    }
}
