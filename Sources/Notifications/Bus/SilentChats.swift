import ChatCore

/// Chats of which less is told.
public struct SilentChats: Hashable, Sendable {
    public var muted: Set<ChatReference>
    /// Somebody looks at their folders.
    public var inFront: Set<ChatReference>

    public init(muted: Set<ChatReference> = [], inFront: Set<ChatReference> = []) {
        self.muted = muted
        self.inFront = inFront
    }
}
