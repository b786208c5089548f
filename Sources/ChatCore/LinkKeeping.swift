/// The folder of links (`ChatReference.links`): files uploaded for a link, and files behind other people's
/// links. Listed, read, sent to and deleted from like a chat.
public protocol LinkKeeping: OpenProfile {
    /// Adds the file behind a link as an item that can be received. Fetches no file; fetches its name and
    /// size if the link lacks them, or its description if that is on a relay. The same link again returns the
    /// existing item.
    ///
    /// - Parameters:
    ///   - name: file name; nil takes that of the link.
    ///   - approvingRelays: whether the user approves the link's relays from now on.
    /// - Throws: `.file(.damaged)` for an invalid link, `.file(.notApproved)` naming the relays, errors of
    ///   relays, `.tooLarge`, `.invalidCommand` for a core without links.
    func addLink(
        _ link: String, named name: String?, approvingRelays: Bool
    ) async throws(ChatError) -> ChatItem
}

extension LinkKeeping {
    /// For cores without links.
    public func addLink(
        _ link: String, named name: String?, approvingRelays: Bool
    ) async throws(ChatError) -> ChatItem {
        throw ChatError(.invalidCommand, "This core keeps no links.")
    }
}

/// First ids in the folder of links: above all ids of cores, and exact as doubles.
extension ItemID {
    public static let firstOfLinks = ItemID(1 << 52)
    public var isOfLink: Bool { self >= Self.firstOfLinks }
}

extension FileID {
    public static let firstOfLinks = FileID(1 << 52)
    public var isOfLink: Bool { self >= Self.firstOfLinks }
}
