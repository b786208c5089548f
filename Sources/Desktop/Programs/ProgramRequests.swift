import Metrics

/// A request without parameters.
struct BareRequest<Answer: Codable & Hashable & Sendable>: ControlRequest {
    var method: ControlMethod
}

/// The result of `list_chats`.
struct ChatsAnswer: Codable, Hashable {
    var chats: [ProgramChat]
}

/// Lists the entries of a chat by number.
public struct ItemsRequest: ControlRequest {
    public typealias Answer = ItemPage

    /// A chat by its folder, name or reference.
    public var chat: String
    /// Only entries in one of these states.
    public var states: [String]?
    /// Number of the last entry already received.
    public var after: UInt64?
    /// Maximum number of entries; nil for `ControlProtocol.maxCount`.
    public var count: Int?
    /// True to compute the SHA-256 of all local files.
    public var hash: Bool?

    public var method: ControlMethod { .listItems }
}

public struct ItemPage: Codable, Hashable, Sendable {
    public var items: [ProgramItem]
    /// Number for `after` of the next request; nil if there are no more items.
    public var next: UInt64?

    public init(items: [ProgramItem], next: UInt64? = nil) {
        self.items = items
        self.next = next
    }
}

struct ItemRequest: ControlRequest {
    typealias Answer = ItemAnswer

    /// Path of an entry below the mountpoint.
    var path: String
    /// True to compute the SHA-256 of a local file.
    var hash: Bool?

    var method: ControlMethod { .getItem }
}

struct ItemAnswer: Codable, Hashable {
    var item: ProgramItem
}

/// The result of `get_sync_status`.
struct StatusAnswer: Codable, Hashable {
    var status: ProgramStatus
}

/// The result of `get_metrics`.
struct MetricsAnswer: Codable, Hashable {
    /// Counters and latencies of the mount.
    var metrics: [MetricFamily]
}

struct SubscribeRequest: ControlRequest {
    typealias Answer = DoneAnswer

    /// As `ProgramInterest`; nil for entries.
    var what: String?

    var method: ControlMethod { .subscribe }
}

/// A request to change one entry.
struct EntryRequest: ControlRequest {
    typealias Answer = EntryAnswer

    var method: ControlMethod
    /// Path of the entry below the mountpoint.
    var path: String
    /// For `free`: true to delete copies too that no relay has.
    var last: Bool?
}

public struct EntryAnswer: Codable, Hashable, Sendable {
    /// The entry afterwards; nil if it is gone.
    public var item: ProgramItem?
    /// False if the request continues and events report its progress.
    public var done: Bool
    /// For `free`: freed bytes on the disk.
    public var freed: UInt64?

    public init(item: ProgramItem?, done: Bool = true, freed: UInt64? = nil) {
        self.item = item
        self.done = done
        self.freed = freed
    }
}

/// A request about one chat without further parameters.
struct ChatRequest: ControlRequest {
    typealias Answer = DoneAnswer

    var method: ControlMethod
    /// The chat by its folder, name or reference.
    var chat: String
}

struct ChatTextRequest: ControlRequest {
    typealias Answer = DoneAnswer

    var chat: String
    var text: String?

    var method: ControlMethod { .sendText }
}

struct ChatKeepRequest: ControlRequest {
    typealias Answer = DoneAnswer

    var chat: String
    /// `never`, `media` or `all`.
    var what: String?

    var method: ControlMethod { .keep }
}

/// A request to send a file.
public struct UploadRequest: ControlRequest {
    public typealias Answer = DoneAnswer

    /// The chat by its folder, name or reference.
    public var chat: String
    /// Absolute path of the file.
    public var source: String?
    public var caption: String?
    /// Identifies repetitions.
    public var key: String?

    public var method: ControlMethod { .upload }
}

struct ApprovalRequest: ControlRequest {
    typealias Answer = DoneAnswer

    /// Addresses of the servers.
    var relays: [String]?

    var method: ControlMethod { .approve }
}
