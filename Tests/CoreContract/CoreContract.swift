import Base
import ChatCore

/// Checks every core's errors for missing, finished and foreign objects, as documented by the protocols of `ChatCore`.
/// A test creates a profile with a complete `Cast`, and expects no violation.
public struct CoreContract: Sendable {
    /// The objects of a profile for the contract. Everything is in `chat` unless stated otherwise.
    public struct Cast: Sendable {
        public var chat: ChatReference
        /// Another chat with a contact, deleted at the end.
        public var other: ChatReference
        /// Received, with a file that was not received yet.
        public var offered: ChatItem
        /// Received with its file.
        public var complete: ChatItem
        /// Received, with a file cancelled by its sender; nil if the core cannot get there.
        public var cancelled: ChatItem?
        /// Sent by this profile, its file on a relay or being uploaded.
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
    /// Stages a file as the outbox does and composes a message; the name is its mark too.
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

    /// Returns a sentence for each violation. Uses up the cast.
    public func violations() async throws -> [String] {
        try await unknownChats() + unknownItems() + unknownFiles() + unknownPeople() + othersItems()
            + overTransfers() + removed() + removedChat()
    }

    // MARK: - Checking one command

    typealias Deed = (name: String, code: ChatErrorCode, body: () async throws -> Void)

    /// The commands that are not refused with their code.
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

    /// Returns a sentence if a condition does not hold.
    func expect(_ isSo: Bool, _ sentence: String) -> [String] { isSo ? [] : [sentence] }

    /// Whether the core still has an item in its place.
    func has(_ item: ChatItem) async -> Bool {
        (try? await core.item(item.id, in: item.chat))?.id == item.id
    }
}
