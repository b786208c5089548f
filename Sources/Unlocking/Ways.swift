import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix

/// What a process may use to unlock, in the order in which it is tried. Of what was named nothing else is tried.
public struct Ways: Sendable {
    public enum Passphrase: Sendable {
        /// The passphrase that there is.
        case present
        /// The same after one that was not the right one.
        case presentOnceMore
        /// A new one, and the same once more.
        case new, again
    }

    /// Handed over for this call.
    public var named: UnlockingSecret?
    public var credentials: Credentials?
    public var keyring: Keyring?
    /// Asks on the terminal; without an answer nil. Nil itself where nobody can be asked.
    public var ask: (@Sendable (Passphrase) -> SecretBytes?)?
    /// A new folder is not encrypted.
    public var makesPlain = false

    public init(named: UnlockingSecret? = nil) { self.named = named }
}

/// The credentials that systemd gives a service (systemd.exec(5), "LoadCredentialEncrypted="): `chatfs.key`, 32 bytes,
/// and `chatfs.passphrase`.
public struct Credentials: Sendable {
    private let folder: String

    /// nil: none are there, of ours.
    public init?(folder: String) {
        self.folder = folder
        guard access(folder + "/chatfs.key", F_OK) == 0 || access(folder + "/chatfs.passphrase", F_OK) == 0
        else { return nil }
    }

    /// From the environment.
    public init?() {
        guard let folder = getenv("CREDENTIALS_DIRECTORY") else { return nil }
        self.init(folder: String(cString: folder))
    }

    /// What can be read, the key first. Blocks.
    /// - Throws: `.wrongSecret` for a key that is not one, `.file`.
    func secrets() throws(UnlockingError) -> [UnlockingSecret] {
        var secrets: [UnlockingSecret] = []
        for name in ["chatfs.key", "chatfs.passphrase"] where access("\(folder)/\(name)", F_OK) == 0 {
            do {
                let file = try OpenFile("\(folder)/\(name)", flags: O_RDONLY)
                secrets.append(
                    name == "chatfs.key"
                        ? try UnlockingSecret.key(from: file) : try UnlockingSecret.passphrase(from: file))
            } catch let error as KeySlotsError {
                throw UnlockingError(error)
            } catch let error as SystemError {
                throw UnlockingError(error)
            } catch {
                throw UnlockingError(.file, "The credential \(name) cannot be read.", cause: error)
            }
        }
        return secrets
    }
}
