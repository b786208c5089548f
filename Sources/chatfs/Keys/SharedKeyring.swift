import EmbeddedCore
import Glibc
import KeySlots
import Unlocking

extension KeyedFolder {
    /// Whether the default data directory needs this folder's key in the keyring too, because one is a copy of the other.
    /// Blocks.
    var sharesKeyWithDefault: Bool {
        let usual = KeyedFolder(path: DataDirectory.defaultPath(), database: DataDirectory.databaseFile)
        var (own, other) = (stat(), stat())
        guard stat(path, &own) == 0, stat(usual.path, &other) == 0,
            own.st_dev != other.st_dev || own.st_ino != other.st_ino,
            let name = try? slots().name, let needed = try? usual.slots()
        else { return false }
        return needed.name == name && needed.slots.contains { $0.kind == .keyring }
    }
}
