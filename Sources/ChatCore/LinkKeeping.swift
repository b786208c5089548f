/// The folder of links (`ChatReference.links`): files that are uploaded for a link, and files that links of others lead
/// to. As a chat it is listed, sent into, read and deleted from; this is what it has beyond that.
public protocol LinkKeeping: OpenProfile {
    /// Adds the file that a link leads to, as one that can be received. Nobody is asked for the file; where the link
    /// does not say its name and size, or leads to a description on a relay, those are fetched. The same link again
    /// returns the item that is there.
    ///
    /// - Parameters:
    ///   - name: instead of the one that the link says.
    ///   - approvingRelays: the user lets files be received from the relays that it leads to, from now on.
    /// - Throws: `.file(.damaged)` for what is no link, `.file(.notApproved)` naming the relays, what they answer,
    ///   `.tooLarge`, `.invalidCommand` for a core without links.
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

/// Numbers in the folder of links: beyond all that cores give, and whole in programs whose numbers are doubles.
extension ItemID {
    public static let firstOfLinks = ItemID(1 << 52)
    public var isOfLink: Bool { self >= Self.firstOfLinks }
}

extension FileID {
    public static let firstOfLinks = FileID(1 << 52)
    public var isOfLink: Bool { self >= Self.firstOfLinks }
}
