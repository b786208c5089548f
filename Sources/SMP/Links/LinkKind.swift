/// The purpose of a link, read from its text without a connection.
public enum LinkKind: Hashable, Sendable {
    /// An invitation for one person.
    case invitation
    /// A person's address, or a group whose full link looks like one.
    case address
    /// A group.
    case group

    /// - Throws: `malformedLink` for other texts; `unsupportedLink` for kinds and versions that this program cannot
    ///   join.
    public init(link text: some StringProtocol) throws(SMPError) {
        if let short = try? ShortLink(link: text) {
            switch short.kind {
            case .invitation: self = .invitation
            case .contact: self = .address
            case .group: self = .group
            case .channel:
                throw .unsupported("The link leads to a channel, and ChatFS does not join channels.")
            case .relay:
                throw .unsupported("The link leads to a relay for channels, not to a person or a group.")
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
