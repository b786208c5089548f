import Base
import EmbeddedCore
import Glibc
import Posix

/// Second names for the files of a data directory, below another folder of its disk: they cost nothing, and the bytes
/// stay when the first names go. The files never change once they are there. One thread. All calls block.
struct HeldFiles {
    private let directory: String
    private let folder: PrivateFolder
    private var held: Set<String> = []
    private var parents: Set<String> = []

    /// - Parameters:
    ///   - directory: the path of the data directory.
    ///   - folder: where the names are made, under the same paths.
    init(of directory: String, in folder: PrivateFolder) {
        (self.directory, self.folder) = (directory, folder)
    }

    /// Holds all that is there now and was not held yet, whoever names it.
    /// - Throws: also where a folder cannot be read: all that it has would be missing.
    mutating func holdAll() throws {
        for core in try OfficialFolder.all(in: directory) {
            for profile in core.profiles {
                try holdAll(in: "\(core.name)/profile-\(profile)/outbox/spool")
            }
        }
        // What somebody else has put there is no profile.
        for profile in try PrivateFolder.names(at: directory + "/profiles") where Int64(profile) != nil {
            let own = "profiles/\(profile)"
            for place in ["\(own)/files", "\(own)/outbox/spool", "\(own)/staging/links-\(profile)"] {
                try holdAll(in: place)
            }
        }
    }

    private mutating func holdAll(in place: String) throws {
        for name in try PrivateFolder.names(at: "\(directory)/\(place)") {
            guard let entry = EntryName("\(place)/\(name)"), ArchivedFile.isKnown(entry) else { continue }
            // What has gone already, nobody names any more; else it is missed when it is asked for.
            _ = try hold(entry.text)
        }
    }

    /// - Parameters:
    ///   - name: below the data directory, and of the second name.
    ///   - source: where it lies; nil: in the place of its name. Absolute.
    /// - Returns: why it cannot be had; nil: it is held.
    /// - Throws: where the disk is full.
    mutating func hold(_ name: String, from source: String? = nil) throws -> SystemError? {
        if held.contains(name) { return nil }
        try makeFolders(to: name)
        let (source, target) = (source ?? "\(directory)/\(name)", "\(folder.path)/\(name)")
        if linkat(AT_FDCWD, source, AT_FDCWD, target, 0) != 0 {
            let error = SystemError(code: errno, operation: "read a file")
            if error.isFullDisk { throw error }
            // The files of an official core may lie on another disk.
            guard error.code == EXDEV else { return error }
            do throws(SystemError) { try Self.copy(source, to: target) } catch {
                if error.isFullDisk { throw error }
                return error
            }
        }
        held.insert(name)
        return nil
    }

    private static func copy(_ source: String, to target: String) throws(SystemError) {
        let from = try OpenFile(source, flags: O_RDONLY | O_NOFOLLOW)
        let to = try OpenFile(target, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        var position: UInt64 = 0
        while true {
            let bytes = try from.read(count: 1 << 20, at: position)
            if bytes.isEmpty { return }
            try to.write(bytes, at: position)
            position += UInt64(bytes.count)
        }
    }

    /// Lets go of all others.
    mutating func keepOnly(_ names: Set<String>) {
        for name in held.subtracting(names) { unlink("\(folder.path)/\(name)") }
        held.formIntersection(names)
    }

    /// The folders in which a name below the data directory lies.
    mutating func makeFolders(to name: String) throws {
        let folders = name.pathNames.dropLast()
        guard parents.insert(folders.joined(separator: "/")).inserted else { return }
        var place = folder.directory
        for name in folders { place = try PrivateFolder.folder(name, in: place) }
    }
}
