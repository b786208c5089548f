import Base
import ChatCore
import CommandLineKit
import EmbeddedCore
import Glibc
import OfficialCore
import Posix

/// The phones of a data directory, for commands about them.
struct KnownPhones: Sendable {
    private let access: DirectoryAccess

    /// From `CommonOptions.directory`.
    init(_ invocation: Invocation) throws { access = try DirectoryAccess(invocation) }

    func all() async throws -> [PairingStore.Description] {
        let access = access
        return try await ThreadPool.shared.run { () throws(any Error) in
            guard try access.isThere() else { return [] }
            let key = try access.key()
            return try PhoneFolders(dataPath: access.path).all().map { folder in
                let store = try PairingStore(folder: folder, key: key, name: PhoneFolders.usualName)
                defer { store.close() }
                return try store.description()
            }.sorted { $0.name < $1.name }
        }
    }

    func rename(_ name: String, to new: String) async throws {
        guard case .phone(name: _?)? = try? OfficialCoreAddress("phone:" + new) else {
            throw UsageError("the name of a phone must have 1 to 64 bytes and no line breaks")
        }
        let access = access
        try await ThreadPool.shared.run { () throws(any Error) in
            let directory = try access.open()
            let (folder, lock) = try Self.take(name, in: directory)
            defer { withExtendedLifetime(lock) {} }
            let target = PhoneFolders(dataPath: directory.path).folder(named: new)
            // An interrupted command may have moved the folder already.
            guard folder == target || Glibc.access(target, F_OK) != 0 else {
                throw UsageError("a phone of this name already exists")
            }
            // The folder goes first: it is found by the new name then, whatever name it stores.
            if folder != target {
                try Self.giveUp(folder, in: directory)
                try check("rename the folder of a phone") { Glibc.rename(folder, target) }
            }
            let store = try PairingStore(folder: target, key: directory.key, name: new)
            try store.rename(to: new)
            store.close()
            try directory.noteParts()
        }
    }

    func forget(_ name: String) async throws {
        let access = access
        try await ThreadPool.shared.run { () throws(any Error) in
            let directory = try access.open()
            let (folder, lock) = try Self.take(name, in: directory, isForgotten: true)
            defer { withExtendedLifetime(lock) {} }
            try Self.giveUp(folder, in: directory)
            // The pairing goes first, so that a killed process leaves no usable phone.
            unlink("\(folder)/\(PairingStore.file)")
            try PrivateFolder(folder, purpose: OfficialCoreSettings.purpose).remove(lock: "lock")
        }
    }

    /// Returns the folder of a phone with its lock, which excludes mounts.
    /// - Parameter isForgotten: True to also find a folder without its pairing, left by an interrupted removal.
    private static func take(
        _ name: String, in directory: DataDirectory, isForgotten: Bool = false
    ) throws -> (folder: String, lock: OpenFile) {
        let folders = PhoneFolders(dataPath: directory.path)
        let own = folders.folder(named: name)
        let left = isForgotten && Glibc.access(own, F_OK) == 0 ? own : nil
        let folder =
            try folders.all().first { folder in
                let store = try PairingStore(folder: folder, key: directory.key, name: name)
                defer { store.close() }
                return try store.description().name == name
            } ?? left
        guard let folder else { throw UsageError("there is no phone of this name; see 'chatfs phone list'") }
        let lock = try OpenFile("\(folder)/lock", flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        guard try lock.tryLock() else {
            throw ChatError(.profileInUse, "This phone is mounted: unmount it first.")
        }
        return (folder, lock)
    }

    /// Removes its databases from the record of required parts.
    private static func giveUp(_ folder: String, in directory: DataDirectory) throws {
        let mine = try directory.officialFolders().filter { folder.hasSuffix("/" + $0.name) }
        for core in mine {
            try directory.giveUp(
                parts: ["\(core.name)/\(OfficialFolder.approvals)"]
                    + core.profiles.flatMap { profile in
                        OfficialFolder.databases.map { "\(core.name)/profile-\(profile)/\($0)" }
                    })
        }
    }
}
