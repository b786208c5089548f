import Base
import TestSupport
import Testing

@testable import ChatProtocol

/// A scripted sequence of messages, and its expected final state.
private struct Script {
    struct Told {
        var content: ChatContent
        var description = ""
        var isDeleted = false
    }

    var messages: [ChatMessage] = []
    var told: [SharedMessageID: Told] = [:]
    private var count: UInt16 = 0

    init(length: Int, random: inout SeededGenerator) throws {
        var descriptions: [(SharedMessageID, DescriptionPart)] = []
        for _ in 0..<length {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let text = "text \(messages.count)"
                let file = Bool.random(using: &random) ? FileInvitation(name: "f", size: 1) : nil
                let id = try say(.message(NewMessage(ChatContent(.text, text: text), file: file)))
                told[id] = Told(content: ChatContent(.text, text: text))
                if file != nil {
                    let parts = DescriptionPart.parts(of: "description of \(messages.count)", limit: 7)
                    descriptions += parts.map { (id, $0) }
                }
            case 4..<8:
                guard !descriptions.isEmpty else { continue }
                let (id, part) = descriptions.removeFirst()
                try describe(id, part)
            case 8:
                guard let id = told.keys.sorted(by: { $0.text < $1.text }).randomElement(using: &random),
                    told[id]?.isDeleted == false
                else { continue }
                let content = ChatContent(.text, text: "changed \(messages.count)")
                try say(.update(MessageUpdate(id, content: content)))
                told[id]?.content = content
            default:
                guard let id = told.keys.sorted(by: { $0.text < $1.text }).randomElement(using: &random)
                else {
                    continue
                }
                try say(.deletion(id, author: nil))
                told[id]?.isDeleted = true
            }
        }
        for (id, part) in descriptions {
            try describe(id, part)
        }
    }

    private mutating func describe(_ id: SharedMessageID, _ part: DescriptionPart) throws {
        try say(.description(of: id, part))
        told[id]?.description += part.text
    }

    @discardableResult
    private mutating func say(_ event: MessageEvent) throws -> SharedMessageID {
        count += 1
        let id = try #require(SharedMessageID(bytes: [UInt8(count >> 8), UInt8(count & 255)]))
        messages.append(ChatMessage(event, id: id))
        return id
    }
}

@Suite("Chats over unreliable connections")
struct ConversationModelTests {
    @Test("ordered and repeated messages match the script", arguments: 0..<40)
    func repetition(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        let script = try Script(length: 120, random: &random)
        var chat = ContactFixture()
        for (place, message) in script.messages.enumerated() {
            chat.receive(message)
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                chat.receive(script.messages[Int.random(in: 0...place, using: &random)])
            }
        }
        #expect(chat.records.shown.count == script.told.values.count { !$0.isDeleted })
        for (key, item) in chat.records.shown {
            let told = try #require(script.told[key.id])
            #expect(!told.isDeleted)
            #expect(item.content == told.content)
            #expect(item.description ?? "" == told.description)
        }
        let wanting = script.messages.count { $0.event.wantsReceipt }
        #expect(chat.records.receipts == wanting)
    }

    @Test("disorder and loss never duplicate or invent", arguments: 0..<40)
    func disorder(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(1000 + seed))
        let script = try Script(length: 120, random: &random)
        let kept = script.messages.filter { _ in Int.random(in: 0..<10, using: &random) > 0 }
        let repeated = kept + kept.filter { _ in Bool.random(using: &random) }
        var chat = ContactFixture()
        for message in repeated.shuffled(using: &random) { chat.receive(message) }

        let delivered = Set(kept.compactMap(\.id))
        let deleted = Set(kept.compactMap { if case .deletion(let id, _) = $0.event { id } else { nil } })
        let changed = Set(
            kept.compactMap { if case .update(let update) = $0.event { update.id } else { nil } })
        for (id, _) in script.told {
            let isShown = chat.records.shown[MessageKey(id, by: .contact)] != nil
            #expect(isShown == (!deleted.contains(id) && (delivered.contains(id) || changed.contains(id))))
        }
        for (key, item) in chat.records.shown {
            let told = try #require(script.told[key.id])
            if let description = item.description { #expect(description == told.description) }
            if !changed.contains(key.id) { #expect(item.content.text.hasPrefix("text")) }
        }
    }

    @Test("restart after any message has no effect", arguments: 0..<10)
    func restarts(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(5000 + seed))
        let script = try Script(length: 60, random: &random)
        var whole = ContactFixture()
        for message in script.messages { whole.receive(message) }
        // Stored data survives; unacknowledged messages are redelivered.
        var stored = ContactFixture()
        for message in script.messages {
            let effects = stored.conversation.receive(
                .message(message), at: Sample.time, from: stored.records)
            if Bool.random(using: &random) {
                stored.conversation = ContactConversation(
                    profile: stored.conversation.profile, versions: stored.conversation.versions)
                stored.receive(message)
            } else {
                stored.records.perform(effects)
                stored.receive(message)
            }
        }
        #expect(stored.records.items == whole.records.items)
        #expect(stored.records.receipts == whole.records.receipts)
    }
}
