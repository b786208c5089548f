import ChatCore
import Cryptography
import Glibc
import Keeping
import Posix

/// What a profile's rules say of small media at arrival (`chatfs keep set --auto-receive`), for a core that is about to
/// be opened. Blocks.
enum KeptArrivals {
    /// Makes nothing where there are no rules. Where they cannot be read, nothing is received unasked: an offer can
    /// still be received later.
    /// - Parameters:
    ///   - folder: the profile's own.
    ///   - key: with which they are encrypted; nil: not.
    static func rule(in folder: String, key: SecretBytes?) -> ArrivalRule {
        guard access(folder + "/keep.sqlite", F_OK) == 0 else { return ArrivalRule() }
        do throws(KeepingError) {
            let store = try KeepStore(in: folder, key: key)
            defer { store.close() }
            return ArrivalRule(try store.rules().arrivals)
        } catch {
            Log("keep").warning("nothing is received at arrival: \(error.sentence)")
            return ArrivalRule(ArrivalRule.Choice(usual: false))
        }
    }
}
