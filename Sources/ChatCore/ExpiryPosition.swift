import Base

/// A place in the order in which relays drop files, for who asks for them page by page.
public struct ExpiryPosition: Hashable, Comparable, Sendable {
    public var time: Timestamp
    /// Of those that go at this time, the ones up to this are before it.
    public var item: ItemID

    public init(_ time: Timestamp, _ item: ItemID = ItemID(.max)) {
        self.time = time
        self.item = item
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.time, left.item.rawValue) < (right.time, right.item.rawValue)
    }
}

extension ChatFile {
    /// For cores that say nothing about it.
    /// - Parameter time: of its message.
    public static func expiry(_ transport: Transport, of time: Timestamp) -> Timestamp? {
        transport == .xftp ? time.advanced(by: FilePolicy.relayRetention) : nil
    }
}

extension ChatItem {
    /// When it can no longer be had from its relays: of a received file, unless its bytes are here or its sender took
    /// it back; of a sent one for who has not received it yet. Nil where the file does not expire, or nobody knows.
    public var relayExpiry: Timestamp? {
        guard let file else { return nil }
        switch file.status {
        case .rcvComplete, .rcvCancelled, .sndCancelled: return nil
        default: return file.expires
        }
    }

    /// Where the core asks for it after this one (`ChatReading.receivableItems`).
    public var expiryPosition: ExpiryPosition? {
        (file?.expires).map { ExpiryPosition($0, id) }
    }
}
