import CommandLineKit
import SMP
import XFTP

/// The kind of a link on the command line. An error about a wrong kind names the right command.
enum GivenLink {
    /// A contact, an address or a group.
    case person
    case file
    /// A message server or a file relay.
    case relay

    /// Returns nil for any other text.
    init?(_ text: String) {
        if (try? LinkKind(link: text)) != nil {
            self = .person
        } else if FileLink.looksLikeLink(text), text.contains("#") {
            self = .file
        } else if AnyRelay(text) != nil {
            self = .relay
        } else {
            return nil
        }
    }

    /// - Parameter kinds: The kinds accepted by the command.
    /// - Throws: `UsageError` for a link of another kind. Any other text passes, and the command reports it.
    static func require(_ kinds: Set<GivenLink>, _ text: String) throws(UsageError) {
        guard let kind = GivenLink(text), !kinds.contains(kind) else { return }
        throw UsageError(kind.advice)
    }

    private var advice: String {
        switch self {
        case .person: "this is the link of a contact or group: 'chatfs accept' takes it"
        case .file: "this is the link of a file: 'chatfs link add' or 'chatfs file receive' takes it"
        case .relay: "this is the address of a relay: 'chatfs relay add' takes it"
        }
    }
}
