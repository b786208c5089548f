import ChatCore
import CoreServices
import Network
import XFTP

/// What happens with a file on relays that the user neither configured nor approved. None of these
/// opens this machine's own network.
public enum RelayApprovalPolicy: String, Sendable, CaseIterable {
    /// It is not received until the user approves.
    case ask
    /// It is received.
    case always
    /// It is not received; approving a single file does not help, approving the relay does.
    case never
}

/// Which relays a profile may contact to receive a file. Contacting one shows it the user's network
/// address, and the sender chose it.
struct RelayRules: Sendable {
    var configured: Set<ServerPlace>
    var approved: Set<ServerPlace>
    var policy: RelayApprovalPolicy

    /// Refuses relays that may not be contacted. `approvedNow` is the user's word for this one file;
    /// it does not open this machine's own network, for which a relay must be configured or approved
    /// by name.
    /// - Throws: `.file(.notApproved)`, naming the relays and the command that approves them.
    func check(_ relays: [RelayAddress], approvedNow: Bool) throws(ChatError) {
        try RelayCheck.require(
            relays, allowsUnknown: policy == .always || policy == .ask && approvedNow
        ) { relay in
            relay.places.allSatisfy { configured.contains($0) || approved.contains($0) }
        }
    }
}
