import Base

/// A position in the order of expiry, for paging.
public struct ExpiryPosition: Hashable, Comparable, Sendable {
    public var time: Timestamp
    /// Last item before the position, among those that expire at `time`.
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
    /// Returns an assumed expiry, for cores that do not report it.
    /// - Parameter time: time of the message.
    public static func expiry(_ transport: Transport, of time: Timestamp) -> Timestamp? {
        transport == .xftp ? time.advanced(by: FilePolicy.relayRetention) : nil
    }
}

extension ChatItem {
    /// When relays drop the file: for a received file until it is here or cancelled, for a sent one as seen
    /// by recipients. nil if the file does not expire, or it is unknown.
    public var relayExpiry: Timestamp? {
        guard let file else { return nil }
        switch file.status {
        case .rcvComplete, .rcvCancelled, .sndCancelled: return nil
        default: return file.expires
        }
    }

    /// Position after this item in `ChatReading.receivableItems`.
    public var expiryPosition: ExpiryPosition? {
        (file?.expires).map { ExpiryPosition($0, id) }
    }
}
