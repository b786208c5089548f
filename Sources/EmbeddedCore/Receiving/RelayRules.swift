import ChatCore
import CoreServices
import Network
import XFTP

/// The relays that a profile may contact to receive files. The sender chooses them, and they see the user's
/// network address.
struct RelayRules: Sendable {
    var configured: Set<ServerPlace>
    var approved: Set<ServerPlace>
    var policy: RelayApprovalPolicy

    /// Throws if a relay may not be contacted.
    /// - Parameter approvedNow: whether the user approved the relays for this file. Does not permit this
    ///   machine's own network, for which a relay must be configured or approved itself.
    /// - Throws: `.file(.notApproved)`, naming the relays and the command that approves them.
    func check(_ relays: [RelayAddress], approvedNow: Bool) throws(ChatError) {
        try RelayCheck.require(
            relays, allowsUnknown: policy == .always || policy == .ask && approvedNow
        ) { relay in
            relay.places.allSatisfy { configured.contains($0) || approved.contains($0) }
        }
    }
}
