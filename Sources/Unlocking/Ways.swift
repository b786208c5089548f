import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix

/// The ways in which a process may unlock, in the order of use. A named one is the only one tried.
public struct Ways: Sendable {
    public enum Passphrase: Sendable {
        /// The existing passphrase.
        case present
        /// The same after a wrong one.
        case presentOnceMore
        /// A new passphrase, and its repetition.
        case new, again
    }

    /// Given for this call.
    public var named: UnlockingSecret?
    public var credentials: Credentials?
    public var keyring: Keyring?
    /// Asks on the terminal and returns nil without an answer. Nil itself if no prompt is possible.
    public var ask: (@Sendable (Passphrase) -> SecretBytes?)?
    /// A new folder stays unencrypted.
    public var makesPlain = false

    public init(named: UnlockingSecret? = nil) { self.named = named }
}

/// The credentials of a systemd service (systemd.exec(5), "LoadCredentialEncrypted="): `chatfs.key`, 32 bytes, and
/// `chatfs.passphrase`.
public struct Credentials: Sendable {
    private let folder: String

    /// Returns nil if none of ours exists.
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

    /// Reads the available credentials, the key first. Blocks.
    /// - Throws: `.wrongSecret` for an invalid key, `.file`.
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
