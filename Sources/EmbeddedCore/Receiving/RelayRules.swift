import ChatCore
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
    var configured: Set<RelayEndpoint>
    var approved: Set<RelayEndpoint>
    var policy: RelayApprovalPolicy

    /// Refuses relays that may not be contacted. `approvedNow` is the user's word for this one file;
    /// it does not open this machine's own network, for which a relay must be configured or approved
    /// by name.
    /// - Throws: `.file(.notApproved)`, naming the relays and the command that approves them.
    func check(_ relays: [RelayAddress], approvedNow: Bool) throws(ChatError) {
        let unknown = relays.filter { relay in
            !RelayEndpoint.all(of: relay).allSatisfy { configured.contains($0) || approved.contains($0) }
        }
        guard !unknown.isEmpty else { return }
        let list = Self.list(unknown)
        let inward = unknown.filter(\.leadsIntoOwnNetwork)
        guard inward.isEmpty else {
            throw ChatError(
                .file(.notApproved),
                "The file is on a relay inside this machine's own network, which is not contacted "
                    + "unless you allow it: chatfs approve \(Self.list(inward))")
        }
        guard policy == .always || policy == .ask && approvedNow else {
            throw ChatError(
                .file(.notApproved),
                "The file is on relays that would see your network address. To allow them: "
                    + "chatfs approve \(list)")
        }
    }

    /// All that official programs preset; a sender may name hundreds.
    private static let maxNamed = 12

    private static func list(_ relays: [RelayAddress]) -> String {
        let named = relays.prefix(maxNamed).map(\.text).joined(separator: " ")
        return relays.count > maxNamed ? named + " (and \(relays.count - maxNamed) more)" : named
    }
}
