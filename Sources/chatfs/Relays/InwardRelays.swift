import ChatCore
import CommandLineKit
import XFTP

/// The relays in the local network that a command may contact: those of the description or link that the user gave, and
/// those of `--approve RELAY`. Relays named by a relay's reply are excluded, because the user has not seen them.
struct InwardRelays: Sendable {
    private(set) var approved: [RelayAddress]

    static let option = Option.list(
        "approve", named: "RELAY", .text,
        "Contact this relay inside this machine's own network. Approve only relays that you know.")

    init(_ invocation: Invocation) throws(UsageError) {
        approved = try invocation[Self.option].map { text throws(UsageError) in
            guard let relay = RelayAddress(text) else {
                throw UsageError("--approve takes the address of a relay, xftp://fingerprint@host:port")
            }
            return relay.withoutPassword
        }
    }

    /// Returns the set with the relays of a description that the user gave.
    func approving(_ description: FileDescription) -> InwardRelays {
        var result = self
        result.approved += description.relays.map(\.withoutPassword)
        return result
    }

    /// Refuses a description with an unapproved relay whose address lies in the local network. A host name that
    /// resolves into it is detected at connection.
    /// - Throws: `.file(.notApproved)` with the relays.
    func require(_ description: FileDescription) throws(ChatError) {
        let places = Set(approved.flatMap(\.places))
        let inward = description.relays.filter { relay in
            relay.leadsIntoOwnNetwork && !relay.places.allSatisfy(places.contains)
        }
        guard !inward.isEmpty else { return }
        throw ChatError(
            .file(.notApproved),
            "The file is on a relay inside this machine's own network. Approve it only if you know it:  "
                + inward.prefix(Self.maxNamed).map { "--approve \($0.text)" }.joined(separator: " "))
    }

    /// Maximum number of relays in an error; a description may name hundreds.
    private static let maxNamed = 12
}
