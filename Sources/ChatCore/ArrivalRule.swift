import Base

/// Which pictures, videos and voice messages a core receives at arrival though nobody asks for them: those of
/// `FilePolicy`, unless the user has turned that off. Cores ask it for each file; whoever keeps the user's choice
/// changes it. Any thread, from memory.
public final class ArrivalRule: Sendable {
    /// What the user wants.
    public struct Choice: Hashable, Sendable {
        /// Of chats that have no choice of their own.
        public var usual: Bool
        public var chats: [ChatReference: Bool]

        public init(usual: Bool = true, chats: [ChatReference: Bool] = [:]) {
            self.usual = usual
            self.chats = chats
        }
    }

    private let choice: Lock<Choice>

    public init(_ choice: Choice = Choice()) { self.choice = Lock(choice) }

    /// For files that arrive from now on, and for offers that are looked at again.
    public func change(to new: Choice) { choice.withLock { $0 = new } }

    /// Whether the file of a received message is received without being asked for.
    public func receives(_ item: ChatItem) -> Bool {
        guard let file = item.file, FilePolicy.receivesAtArrival(item.content, size: file.size) else {
            return false
        }
        return choice.withLock { $0.chats[item.chat] ?? $0.usual }
    }
}
