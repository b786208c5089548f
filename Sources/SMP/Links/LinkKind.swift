/// What a link is for, as far as its text says so: nobody is asked.
public enum LinkKind: Hashable, Sendable {
    /// For one person.
    case invitation
    /// Somebody's address, or a group where a full link leads to one.
    case address
    /// Into a group.
    case group

    /// - Throws: `malformedLink` for what is none; `unsupportedLink` for one that leads to what this program does not
    ///   join, or is of versions that it does not know.
    public init(link text: some StringProtocol) throws(SMPError) {
        if let short = try? ShortLink(link: text) {
            switch short.kind {
            case .invitation: self = .invitation
            case .contact: self = .address
            case .group: self = .group
            case .channel:
                throw .unsupported("The link leads to a channel, and ChatFS does not join channels.")
            case .relay: throw .unsupported("This is the link of a relay for channels, not of somebody.")
            }
            return
        }
        let request = try ConnectionRequest(link: text)
        switch request.kind {
        case .invitation: self = .invitation
        case .contact: self = request.data?.contains("\"groupLinkId\"") == true ? .group : .address
        }
    }
}

extension SMPError {
    fileprivate static func unsupported(_ sentence: String) -> SMPError {
        SMPError(.unsupportedLink, sentence)
    }
}
