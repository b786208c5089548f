import ChatCore
import CommandLineKit
import XFTP

/// The relays inside this machine's own network that one command may contact: those of the description or link that its
/// user gave, and those of `--approve RELAY`. Of what a relay answers, the user has seen nothing.
struct InwardRelays: Sendable {
    private(set) var approved: [RelayAddress]

    static let option = Option.value(
        "approve", named: "RELAY", .text, repeats: true,
        "Contact this relay although it is inside this machine's own network; only if it is known to you.")

    init(_ invocation: Invocation) throws(UsageError) {
        var approved: [RelayAddress] = []
        for text in invocation.all(Self.option.name) {
            guard let relay = RelayAddress(text) else {
                throw UsageError("--approve takes the address of a relay, xftp://fingerprint@host:port")
            }
            approved.append(relay.withoutPassword)
        }
        self.approved = approved
    }

    /// Approves the relays of a description that the user gave.
    func approving(_ description: FileDescription) -> InwardRelays {
        var result = self
        result.approved += description.relays.map(\.withoutPassword)
        return result
    }

    /// Refuses a description with a relay that its address places inside the own network, unless approved. A name that
    /// leads there is found out when it is connected to.
    /// - Throws: `.file(.notApproved)`, naming the relays.
    func require(_ description: FileDescription) throws(ChatError) {
        let places = Set(approved.flatMap(\.places))
        let inward = description.relays.filter { relay in
            relay.leadsIntoOwnNetwork && !relay.places.allSatisfy(places.contains)
        }
        guard !inward.isEmpty else { return }
        throw ChatError(
            .file(.notApproved),
            "The file is on a relay inside this machine's own network. Approve it only if it is known to you: "
                + inward.prefix(Self.maxNamed).map { "--approve \($0.text)" }.joined(separator: " "))
    }

    /// A description may name hundreds.
    private static let maxNamed = 12
}
