import ChatCore

/// Chats with fewer notifications.
public struct SilentChats: Hashable, Sendable {
    public var muted: Set<ChatReference>
    /// Chats whose folders a window displays.
    public var inFront: Set<ChatReference>

    public init(muted: Set<ChatReference> = [], inFront: Set<ChatReference> = []) {
        self.muted = muted
        self.inFront = inFront
    }
}
