import Configuration
import EmbeddedCore
import Glibc
import KeySlots
import Unlocking

extension KeyedFolder {
    /// Another data directory that needs this folder's key in the keyring too, because one is a copy of the other. Only
    /// the default one and those of the configuration are known. Blocks.
    var sharerOfKey: String? {
        var own = stat()
        guard stat(path, &own) == 0, let name = try? slots().name else { return nil }
        let configured = (try? ConfigurationAccess.read())?.dataDirectories ?? []
        return ([DataDirectory.defaultPath()] + configured).first { directory in
            var other = stat()
            guard stat(directory, &other) == 0, own.st_dev != other.st_dev || own.st_ino != other.st_ino,
                let needed = try? KeyedFolder(path: directory, database: DataDirectory.databaseFile).slots()
            else { return false }
            return needed.name == name && needed.slots.contains { $0.kind == .keyring }
        }
    }
}

extension Configuration {
    /// The data directories of all mounts.
    fileprivate var dataDirectories: [String] {
        ([common] + mounts.map(\.options)).flatMap { $0[CommonOptions.data.name] ?? [] }
    }
}
