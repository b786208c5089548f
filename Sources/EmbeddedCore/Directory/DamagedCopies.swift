import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// Damaged local files, kept until a good copy arrives. `chatfs cryptofile decrypt --salvage` reads their
/// intact parts. They are named by file number in a folder of their own; their keys are in the database
/// (`DamagedCopyTable`). All calls block, outside of transactions.
struct DamagedCopies: Sendable {
    private let store: ProfileStore
    private var path: String { store.folders.path + "/damaged" }

    init(_ store: ProfileStore) { self.store = store }

    private func copyPath(of file: FileID) -> String { "\(path)/\(file.rawValue)" }

    /// Links a copy into the folder, durably. Does nothing if it no longer exists.
    func setAside(_ copy: FileSourceLocation, of file: FileID) throws {
        guard let arguments = copy.arguments, access(copy.path, F_OK) == 0 else { return }
        if mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw SystemError(code: errno, operation: "make a folder")
        }
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        // Remove an older copy first: its key is replaced.
        unlink(copyPath(of: file))
        try store.commit {
            try $0.tables.directory.damagedCopies.keep(arguments, of: file, in: store.profile.id)
        }
        try check("set a damaged file aside") { link(copy.path, copyPath(of: file)) }
        try folder.synchronise()
    }

    /// Returns a sentence about the kept copy for the user; nil without one.
    func remains(of file: FileID) -> String? {
        let copy = copyPath(of: file)
        guard access(copy, F_OK) == 0 else { return nil }
        return
            "'chatfs cryptofile decrypt --salvage \(copy) OUT' writes the readable parts of its damaged copy "
            + "to OUT."
    }

    func remove(of file: FileID) {
        // The folder exists only after the first damaged copy.
        guard access(path, F_OK) == 0 else { return }
        unlink(copyPath(of: file))
        do {
            let isKnown = try store.read {
                try $0.directory.damagedCopies.arguments(of: file, in: store.profile.id) != nil
            }
            if isKnown { try store.commit { try $0.tables.directory.damagedCopies.remove(file) } }
        } catch {
            // The next sweep removes it.
            log.notice("damaged copy's key not removed: file=\(file.rawValue) error=\(sentence(of: error))")
        }
    }

    /// nil without a folder, the usual case.
    private func folder() throws(SystemError) -> OpenFile? {
        try OpenFile.existing(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    /// Files with a kept copy or key.
    var files: Set<FileID> {
        get throws {
            guard let folder = try folder() else { return [] }
            let known = try store.read { try $0.directory.damagedCopies.files(of: store.profile.id) }
            return Set(try PrivateFolder.names(in: folder).compactMap { Int64($0) }.map(FileID.init) + known)
        }
    }

    /// Moves keys of earlier releases, kept in cleartext as `NUMBER.json`, into the database. Overwrites the
    /// cleartext as far as the disk allows.
    func importEarlierKeys() throws {
        guard let folder = try folder() else { return }
        for name in try PrivateFolder.names(in: folder) {
            guard name.hasSuffix(".json"), let number = Int64(name.dropLast(5)) else { continue }
            let file = try OpenFile(name, flags: O_RDWR | O_NOFOLLOW, in: folder)
            let text = String(decoding: try file.readAll(limit: 64 << 10), as: UTF8.self)
            if let arguments = try? FileArguments(parsing: text) {
                try store.commit {
                    try $0.tables.directory.damagedCopies.keep(
                        arguments, of: FileID(number), in: store.profile.id)
                }
            }
            try file.write([UInt8](repeating: 0, count: text.utf8.count), at: 0)
            try file.synchronise()
            try check("remove a key in clear") { unlinkat(folder.descriptor, name, 0) }
        }
        try folder.synchronise()
    }
}

extension DataDirectory {
    /// Returns the key of a file's damaged copy for salvage; nil without one.
    /// - Parameter profile: number of the profile.
    /// - Throws: `.storage`.
    public func arguments(
        ofDamagedCopyOf file: FileID, inProfile profile: Int64
    ) throws(ChatError) -> FileArguments? {
        try read { try $0.damagedCopies.arguments(of: file, in: profile) }
    }
}
