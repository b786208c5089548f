import ChatCore
import Cryptography
import Glibc
import Keeping
import Posix

/// Reads a profile's rule for small media on arrival (`chatfs keep set --auto-receive`), for a core about to be opened.
/// Blocks.
enum KeptArrivals {
    /// Creates no rules. If the rules cannot be read, nothing is received on arrival; files can still be received
    /// later.
    /// - Parameters:
    ///   - folder: Directory of the profile.
    ///   - key: Encryption key of the rules; nil if not encrypted.
    static func rule(in folder: String, key: SecretBytes?) -> ArrivalRule {
        guard access(folder + "/keep.sqlite", F_OK) == 0 else { return ArrivalRule() }
        do throws(KeepingError) {
            let store = try KeepStore(in: folder, key: key)
            defer { store.close() }
            return ArrivalRule(try store.rules().arrivals)
        } catch {
            Log("keep").warning("rules unreadable, receiving nothing on arrival: error=\(error.sentence)")
            return ArrivalRule(ArrivalRule.Choice(usual: false))
        }
    }
}
