import Base
import ChatCore

/// A request about the folder of links. The process that has the profile carries it out: the command itself, or the
/// daemon of its mount.
public struct LinkRequest: ControlRequest {
    /// See `carryOut`.
    public typealias Answer = [LinkDescription]

    public enum Action: String, Codable, Hashable, Sendable {
        case add, list, find, remove
    }

    public var action: Action
    /// For `add`: the link. A secret.
    public var link: String?
    /// Name of an entry; for `add`, a name to use instead of the sender's.
    public var name: String?
    /// For `add`: approves the link's relays for receiving.
    public var approves: Bool?
    /// For `list`: only entries older than this one.
    public var before: Int64?

    public var method: ControlMethod { .links }

    public init(_ action: Action, link: String? = nil, name: String? = nil, approves: Bool = false) {
        self.action = action
        self.link = link
        self.name = name
        self.approves = approves
    }

    /// Maximum number of entries per reply, which must fit into a line.
    static let maxCount = 100

    /// Carries out the request.
    /// - Returns: For a list, the next entries without their links; else the affected entry.
    /// - Throws: `.noSuchItem` if no link or several match the name; the errors of the core.
    public func carryOut(
        on core: any ChatReading & MessageSending & LinkKeeping
    ) async throws(ChatError) -> [LinkDescription] {
        switch action {
        case .add:
            let item = try await core.addLink(link ?? "", named: name, approvingRelays: approves ?? false)
            return LinkDescription(item).map { [$0] } ?? []
        case .list:
            // An empty reply ends the list, so pages of shortcuts only are skipped.
            var last = before.map { ItemID($0) }
            while true {
                let items = try await core.items(of: .links, before: last, count: Self.maxCount)
                let found = items.compactMap { LinkDescription($0) }.map(\.withoutLink)
                guard found.isEmpty, let oldest = items.last else { return found }
                last = oldest.id
            }
        case .find: return [try await found(in: core).description]
        case .remove:
            let (item, description) = try await found(in: core)
            try await core.deleteItems([item], in: .links, mode: .internal)
            return [description.withoutLink]
        }
    }

    private func found(
        in core: some ChatReading
    ) async throws(ChatError) -> (item: ItemID, description: LinkDescription) {
        var (found, last): ([LinkDescription], ItemID?) = ([], nil)
        while true {
            let items = try await core.items(of: .links, before: last, count: 500)
            guard let oldest = items.last else { break }
            found += items.compactMap { LinkDescription($0) }.filter { $0.name == name }
            last = oldest.id
        }
        guard let one = found.first else {
            throw ChatError(.noSuchItem, "There is no link of this name: 'chatfs link list' shows all.")
        }
        guard found.count == 1 else {
            throw ChatError(.noSuchItem, "Several links have this name: name the file in the folder instead.")
        }
        return (ItemID(one.number), one)
    }
}

/// An entry of the folder of links.
public struct LinkDescription: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable {
        /// States of an upload.
        case uploading, uploaded, failed, cancelled
        /// States of another person's link that was added; `lost` if its file is unavailable.
        case added, lost
    }

    /// nil from a daemon of an older version.
    public var state: State?
    public var number: Int64
    public var name: String
    /// Size in bytes.
    public var size: UInt64
    /// True for another person's link that was added.
    public var isAdded: Bool
    /// Seconds since 1970.
    public var created: Int64
    public var expires: Int64?
    /// For uploads: a sentence that tells why there is no link, or no longer.
    public var problem: String?
    /// True if there is a link.
    public var hasLink: Bool
    /// A secret.
    public var link: String?

    /// Returns nil for a file that only contains another file's link.
    init?(_ item: ChatItem) {
        guard let file = item.file, file.transport == .xftp else { return nil }
        number = item.id.rawValue
        (name, size) = (file.name, file.size)
        isAdded = item.direction == .received
        created = item.time.seconds
        expires = file.expires?.seconds
        (link, hasLink) = (file.link, file.link != nil)
        state = isAdded ? .added : .uploading
        switch file.status {
        case .sndWarning(let found), .rcvWarning(let found): problem = found.sentence
        case .sndError(let found): (state, problem) = (.failed, found.sentence)
        case .rcvError(let found): (state, problem) = (.lost, found.sentence)
        case .sndCancelled: (state, problem) = (.cancelled, "Taken back.")
        case .sndComplete: state = .uploaded
        default: break
        }
    }

    var withoutLink: LinkDescription {
        var description = self
        description.link = nil
        return description
    }
}
