import CommandLineKit
import SMP
import XFTP

/// What a link on the command line leads to, so that the error about a wrong one names the command that takes it.
enum GivenLink {
    /// A contact, an address or a group.
    case person
    case file
    /// A server for messages or for files.
    case relay

    /// nil for a text that is none of these.
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

    /// - Parameter kinds: those that the command takes.
    /// - Throws: for a link of another kind. What is no link at all passes: the command says what is wrong with it.
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
