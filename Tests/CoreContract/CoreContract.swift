import Base
import ChatCore

/// What every core answers to who asks for what is not there, not there any more, or not his to take: the errors that the
/// protocols of `ChatCore` name. A test of a core makes a profile that has all of `Cast`, and expects no violation.
public struct CoreContract: Sendable {
    /// What a profile has for it. Everything is in `chat` but what is said to be elsewhere.
    public struct Cast: Sendable {
        public var chat: ChatReference
        /// Another chat with somebody, which is deleted at the end.
        public var other: ChatReference
        /// Received, and nobody has received its file yet.
        public var offered: ChatItem
        /// Received with its file.
        public var complete: ChatItem
        /// Received, and its sender has cancelled the file; nil where the core cannot be brought there.
        public var cancelled: ChatItem?
        /// Sent by this profile, its file on a relay or on its way there.
        public var sent: ChatItem

        public init(
            chat: ChatReference, other: ChatReference, offered: ChatItem, complete: ChatItem,
            cancelled: ChatItem?, sent: ChatItem
        ) {
            self.chat = chat
            self.other = other
            self.offered = offered
            self.complete = complete
            self.cancelled = cancelled
            self.sent = sent
        }
    }

    let core: any ChatCore
    let cast: Cast
    /// Stages a file as the outbox does and composes a message: the name is its mark, too.
    let compose: @Sendable (_ name: String) throws -> ComposedMessage
    /// Whether a staged file is still there.
    let isThere: @Sendable (_ path: String) -> Bool

    static let unknown = Int64(471_100)
    static let unknownItem = ItemID(unknown)
    static let unknownFile = FileID(unknown)
    static let unknownChats: [ChatReference] = [.direct(unknown), .group(unknown), .notes(unknown)]

    public init(
        _ core: any ChatCore, _ cast: Cast, compose: @escaping @Sendable (String) throws -> ComposedMessage,
        isThere: @escaping @Sendable (String) -> Bool
    ) {
        (self.core, self.cast, self.compose, self.isThere) = (core, cast, compose, isThere)
    }

    /// Every command that the core answers otherwise, as sentences. The cast is used up by it.
    public func violations() async throws -> [String] {
        try await unknownChats() + unknownItems() + unknownFiles() + unknownPeople() + othersItems()
            + overTransfers() + removed() + removedChat()
    }

    // MARK: - Looking at one command

    typealias Deed = (name: String, code: ChatErrorCode, body: () async throws -> Void)

    /// Those that are not refused with their code.
    func violations(_ subject: String, _ deeds: [Deed]) async -> [String] {
        var violations: [String] = []
        for deed in deeds {
            let outcome = await outcome(deed.body)
            guard outcome != .refused(deed.code) else { continue }
            violations.append("\(deed.name) of \(subject): expected .\(deed.code), was \(outcome)")
        }
        return violations
    }

    enum Outcome: Equatable, CustomStringConvertible {
        case done
        case refused(ChatErrorCode)
        case strange(String)

        var description: String {
            switch self {
            case .done: "carried out"
            case .refused(let code): ".\(code)"
            case .strange(let text): text
            }
        }
    }

    private func outcome(_ body: () async throws -> Void) async -> Outcome {
        do {
            try await body()
            return .done
        } catch let error as ChatError {
            return .refused(error.code)
        } catch {
            return .strange("\(error)")
        }
    }

    /// A sentence where something is not so.
    func expect(_ isSo: Bool, _ sentence: String) -> [String] { isSo ? [] : [sentence] }

    /// Whether the core has an item where it was.
    func has(_ item: ChatItem) async -> Bool {
        (try? await core.item(item.id, in: item.chat))?.id == item.id
    }
}
