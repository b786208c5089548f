import Base
import EmbeddedCore
import Glibc
import Posix

/// Hard links to files of a data directory in another folder of its disk. They take no space and keep the content when
/// the original names are deleted. The files never change. One thread. All calls block.
struct HeldFiles {
    private let directory: String
    private let folder: PrivateFolder
    private var held: Set<String> = []
    private var parents: Set<String> = []

    /// - Parameters:
    ///   - directory: The path of the data directory.
    ///   - folder: The folder of the links, which get the same paths.
    init(of directory: String, in folder: PrivateFolder) {
        (self.directory, self.folder) = (directory, folder)
    }

    /// Links all present files that are not linked yet.
    /// - Throws: An error also if a folder cannot be read, since its files would be missing.
    mutating func holdAll() throws {
        for core in try OfficialFolder.all(in: directory) {
            for profile in core.profiles {
                try holdAll(in: "\(core.name)/profile-\(profile)/outbox/spool")
            }
        }
        // Other entries than numbers are no profiles.
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
            // A file deleted meanwhile has no references; otherwise it is reported missing later.
            _ = try hold(entry.text)
        }
    }

    /// Links one file.
    /// - Parameters:
    ///   - name: The path in the data directory and of the link.
    ///   - source: The absolute path of the file, or nil for its usual place.
    /// - Returns: The error of the file, or nil on success.
    /// - Throws: An error if the disk is full.
    mutating func hold(_ name: String, from source: String? = nil) throws -> SystemError? {
        if held.contains(name) { return nil }
        try makeFolders(to: name)
        let (source, target) = (source ?? "\(directory)/\(name)", "\(folder.path)/\(name)")
        if linkat(AT_FDCWD, source, AT_FDCWD, target, 0) != 0 {
            let error = SystemError(code: errno, operation: "read a file")
            if error.isFullDisk { throw error }
            // Files of an official core may be on another disk.
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

    /// Deletes all other links.
    mutating func keepOnly(_ names: Set<String>) {
        for name in held.subtracting(names) { unlink("\(folder.path)/\(name)") }
        held.formIntersection(names)
    }

    /// Creates the folders of a name.
    mutating func makeFolders(to name: String) throws {
        let folders = name.pathNames.dropLast()
        guard parents.insert(folders.joined(separator: "/")).inserted else { return }
        var place = folder.directory
        for name in folders { place = try PrivateFolder.folder(name, in: place) }
    }
}
