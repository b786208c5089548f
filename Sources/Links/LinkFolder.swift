import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The CryptoFiles of the folder of links, under random names. All calls block.
struct LinkFolder: Sendable {
    /// Absolute. Next to the core's staging folder, so that staged files are moved and not copied.
    let path: String

    /// The path for a profile.
    static func path(in stagingFolder: String, of profile: Profile) -> String {
        stagingFolder + "/links-\(profile.id)"
    }

    /// Opens the folder, and creates it if missing.
    private func opened() throws(SystemError) -> OpenFile {
        let parent = try OpenFile(path.parentPath, flags: O_RDONLY | O_DIRECTORY)
        return try PrivateFolder.folder(path.lastPathName ?? path, in: parent)
    }

    /// Gives a staged CryptoFile a lasting second name, durably. The caller removes the first one after committing the
    /// row.
    /// - Throws: `.file(.damaged)` for a file that is not a CryptoFile of `size` bytes of plaintext.
    func keep(_ staged: FileSourceLocation, size: UInt64) throws -> String {
        let length = try OpenFile.regular(staged.path, flags: O_NOFOLLOW)?.size()
        guard staged.arguments != nil, let length, length >= 16, length - 16 == size else {
            throw ChatError(.file(.damaged), "The staged file has a wrong length.")
        }
        let (folder, name) = (try opened(), Self.freshName())
        try check("keep a file") { linkat(AT_FDCWD, staged.path, folder.descriptor, name, 0) }
        do {
            try folder.synchronise()
        } catch {
            unlinkat(folder.descriptor, name, 0)
            throw error
        }
        return name
    }

    /// Writes bytes as a new CryptoFile, durably.
    func write(_ bytes: [UInt8]) throws -> (name: String, arguments: FileArguments) {
        let (folder, name) = (try opened(), Self.freshName())
        let arguments = CryptoFile.freshArguments()
        do {
            let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder)
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try writer.append(bytes)
            try writer.finish()
            try CryptoFile.confirm(file, arguments)
            try file.synchronise()
            try folder.synchronise()
        } catch {
            unlinkat(folder.descriptor, name, 0)
            throw error
        }
        return (name, arguments)
    }

    /// Writes a plain copy for a core that uploads only plain files, under the name for its recipients. It exists for
    /// the duration of the upload. Returns its path.
    func makePlain(_ id: Int64, named name: String, of source: FileSourceLocation) throws -> String {
        guard let arguments = source.arguments else {
            throw ChatError(.invalidCommand, "The file to upload is not encrypted.")
        }
        removePlain(id)
        _ = try PrivateFolder.folder(Self.plainName(id), in: opened())
        let path = "\(path)/\(Self.plainName(id))/\(name)"
        try CryptoFile.decrypt(from: source.path, to: path, arguments: arguments)
        return path
    }

    func removePlain(_ id: Int64) {
        let place = "\(path)/\(Self.plainName(id))"
        if let inner = try? OpenFile(place, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) {
            // If this fails, the next start removes it.
            try? PrivateFolder.removeContents(of: inner, keeping: [])
        }
        rmdir(place)
    }

    /// Open descriptors still read it.
    func remove(_ name: String) { unlink(path + "/" + name) }

    /// Removes files that no row names, plain copies included.
    func sweep(keeping names: Set<String>) throws {
        guard access(path, F_OK) == 0 else { return }
        for name in try PrivateFolder.names(in: opened()) where !names.contains(name) {
            if name.hasPrefix("plain-"), let id = Int64(name.dropFirst("plain-".count)) {
                removePlain(id)
            } else {
                remove(name)
            }
        }
    }

    /// Returns whether an entry of the folder is a plain copy for an upload.
    static func isPlainCopy(_ name: String) -> Bool { name.hasPrefix("plain-") }

    private static func plainName(_ id: Int64) -> String { "plain-\(id)" }
    private static func freshName() -> String { Hexadecimal.encode(SystemRandomSource().bytes(16)) }
}
