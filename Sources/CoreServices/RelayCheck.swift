import ChatCore
import XFTP

/// Checks relays that another person chose: each would see the user's network address.
public enum RelayCheck {
    /// Refuses relays that may not be contacted for receiving a file.
    ///
    /// - Parameters:
    ///   - allowsUnknown: Whether unknown relays outside the own network are permitted.
    ///   - isKnown: Whether a relay's address is configured or approved.
    /// - Throws: `.file(.notApproved)` with the relays and the command that approves them.
    public static func require(
        _ relays: [RelayAddress], allowsUnknown: Bool, isKnown: (RelayAddress) -> Bool
    ) throws(ChatError) {
        let unknown = relays.filter { !isKnown($0) }
        guard !unknown.isEmpty else { return }
        let inward = unknown.filter(\.leadsIntoOwnNetwork)
        guard inward.isEmpty else {
            throw ChatError(
                .file(.notApproved),
                "The file is on a relay inside this machine's own network. Approve it only if it is known "
                    + "to you: chatfs approve \(list(inward))")
        }
        guard allowsUnknown else {
            throw ChatError(
                .file(.notApproved),
                "The file is on relays that would see your network address. To allow them: "
                    + "chatfs approve \(list(unknown))")
        }
    }

    /// The number of relays preset in official programs; a sender may name hundreds.
    private static let maxNamed = 12

    private static func list(_ relays: [RelayAddress]) -> String {
        let named = relays.prefix(maxNamed).map(\.text).joined(separator: " ")
        return relays.count > maxNamed ? named + " (and \(relays.count - maxNamed) more)" : named
    }
}
