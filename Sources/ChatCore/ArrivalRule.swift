import Base

/// Decides which pictures, videos and voice messages a core receives automatically: those within
/// `FilePolicy`, unless disabled by the user. Cores query it for each file. Safe from any thread; does no
/// I/O.
public final class ArrivalRule: Sendable {
    /// The user's choice.
    public struct Choice: Hashable, Sendable {
        /// For chats without a choice of their own.
        public var usual: Bool
        public var chats: [ChatReference: Bool]

        public init(usual: Bool = true, chats: [ChatReference: Bool] = [:]) {
            self.usual = usual
            self.chats = chats
        }
    }

    private let choice: Lock<Choice>

    public init(_ choice: Choice = Choice()) { self.choice = Lock(choice) }

    /// Applies to files that arrive later, and to offers that are checked again.
    public func change(to new: Choice) { choice.withLock { $0 = new } }

    /// Returns whether to receive a message's file automatically.
    public func receives(_ item: ChatItem) -> Bool {
        guard let file = item.file, FilePolicy.receivesAtArrival(item.content, size: file.size) else {
            return false
        }
        return choice.withLock { $0.chats[item.chat] ?? $0.usual }
    }
}
