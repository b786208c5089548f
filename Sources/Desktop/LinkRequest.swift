import Base
import ChatCore

/// What a user wants of the folder of links: carried out by the process that has the profile, be it the command itself
/// or, asked with one line of JSON, the daemon of its mount.
public struct LinkRequest: Codable, Hashable, Sendable {
    public enum Action: String, Codable, Hashable, Sendable {
        case add, list, find, remove
    }

    public var linking: Action
    /// To add. A secret.
    public var link: String?
    /// The name of an entry; to add, instead of the sender's.
    public var name: String?
    /// To add: files may be received from its relays from now on.
    public var approves: Bool?
    /// Of a list: entries older than this one.
    public var before: Int64?

    public init(_ action: Action, link: String? = nil, name: String? = nil, approves: Bool = false) {
        linking = action
        self.link = link
        self.name = name
        self.approves = approves
    }

    /// Entries in one answer, so that it fits into a line.
    static let maxCount = 100

    /// Does it.
    /// - Returns: of a list the next entries, without their links; else the one that is meant.
    /// - Throws: `.noSuchItem` where no link, or several, have the name; as the core.
    public func carryOut(
        on core: some ChatReading & MessageSending & LinkKeeping
    ) async throws(ChatError) -> [LinkDescription] {
        switch linking {
        case .add:
            let item = try await core.addLink(link ?? "", named: name, approvingRelays: approves ?? false)
            return LinkDescription(item).map { [$0] } ?? []
        case .list:
            // An answer without entries ends the list: one of nothing but shortcuts would, too.
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

/// One entry of the folder of links.
public struct LinkDescription: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable {
        /// Of an upload: on its way, there, come to nothing, or taken back.
        case uploading, uploaded, failed, cancelled
        /// Somebody else's, that was added; one whose file cannot be had any more.
        case added, lost
    }

    /// nil from the daemon of an earlier version.
    public var state: State?
    public var number: Int64
    public var name: String
    /// Bytes.
    public var size: UInt64
    /// Somebody else's, that was added.
    public var isAdded: Bool
    /// Seconds since 1970.
    public var created: Int64
    public var expires: Int64?
    /// Uploads only: why there is no link yet, or none any more.
    public var problem: String?
    /// Whether there is a link.
    public var hasLink: Bool
    /// A secret.
    public var link: String?

    /// nil for a file that only holds the link of another.
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

/// The daemon's answer: one line of JSON.
struct LinkReply: Codable, Hashable {
    var links: [LinkDescription]?
    /// Why not.
    var problem: String?
}

extension LinkRequest {
    func reply(from core: any ChatCore) async -> LinkReply {
        do throws(ChatError) {
            return LinkReply(links: try await carryOut(on: core))
        } catch {
            return LinkReply(problem: error.sentence)
        }
    }
}
