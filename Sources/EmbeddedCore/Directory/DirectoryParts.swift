import Base
import Glibc
import Posix
import Store

/// The parts of a data directory that exist on disk. Needs no key. All calls block.
struct DirectoryParts {
    /// Exists while databases are being encrypted and moved; suspends the check.
    private static let encryptionMark = "encrypting"

    private let directory: String

    /// - Parameter directory: absolute.
    init(of directory: String) { self.directory = directory }

    /// Returns the non-empty databases except the first, as paths below the directory.
    func databases() throws(SystemError) -> [String] {
        var places: [String] = []
        for name in try PrivateFolder.names(at: directory + "/profiles") where Int64(name) != nil {
            places += ProfileFolders.databases.map { "profiles/\(name)/\($0)" }
        }
        for folder in try OfficialFolder.all(in: directory) {
            places.append("\(folder.name)/\(OfficialFolder.approvals)")
            for profile in folder.profiles {
                places += OfficialFolder.databases.map { "\(folder.name)/profile-\(profile)/\($0)" }
            }
        }
        return places.filter(hasNonEmptyFile)
    }

    /// Returns whether a non-empty file is at `place`.
    func hasNonEmptyFile(_ place: String) -> Bool {
        var status = stat()
        return stat("\(directory)/\(place)", &status) == 0 && status.st_size > 0
    }

    /// Returns the missing parts without which the directory must not be changed. An empty folder, or one
    /// whose creation was interrupted, lacks none.
    func missingRequiredParts() throws(SystemError) -> [String] {
        let names = Set(try PrivateFolder.names(at: directory))
        let isSomething = [DataDirectory.databaseFile, DataDirectory.keysFile].contains(where: names.contains)
        guard !names.contains(Self.encryptionMark), isSomething || names.contains(PrivateFolder.marker) else {
            return []
        }
        var missing: [String] = []
        // The folder may belong to another program.
        if !names.contains(PrivateFolder.marker) {
            guard names.contains(DataDirectory.madeMark) || names.contains("profiles") else { return [] }
            missing.append(PrivateFolder.marker)
        }
        let hasFirst = hasNonEmptyFile(DataDirectory.databaseFile)
        let others = hasFirst && names.contains(DataDirectory.keysFile) ? [] : try databases()
        if !names.contains(DataDirectory.keysFile),
            ([DataDirectory.databaseFile] + others).contains(where: isSealed) || !hasFirst && wasMadeEncrypted
        {
            missing.append(DataDirectory.keysFile)
        }
        if !hasFirst, names.contains(DataDirectory.madeMark) || !others.isEmpty {
            missing.append(DataDirectory.databaseFile)
        }
        return missing
    }

    private var wasMadeEncrypted: Bool {
        guard let mark = try? OpenFile("\(directory)/\(DataDirectory.madeMark)", flags: O_RDONLY) else {
            return false
        }
        return (try? mark.readAll(limit: 64)) == DataDirectory.madeEncrypted
    }

    private func isSealed(_ place: String) -> Bool {
        Database.isSealed(path: "\(directory)/\(place)")
    }
}
