import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

/// Random histories of shared messages, compared with a dictionary. Programs choose ids, so equal ids occur
/// with several authors and chats.
@Suite("Shared messages against a model")
struct SharedMessageModelTests {
    private struct Key: Hashable {
        var chat: Int64
        var author: Author
        var id: SharedMessageID
        var message: MessageKey { MessageKey(id, by: author) }
    }

    private struct Entry: Equatable {
        var time = Timestamp(nanoseconds: 0)
        var state: MessageRecord.State?
        var hasFile = false
        var item: ItemID?
        var isSeen = false
        var description: PartialDescription?
        var parts: [String] = []

        var record: MessageRecord? { state.map { MessageRecord(time: time, state: $0, hasFile: hasFile) } }

        mutating func empty() { (state, hasFile, item, description, parts) = (.deleted, false, nil, nil, []) }
    }

    private static let authors: [Author] = [
        .own, .contact, .member(StoreStage.member(1)), .member(StoreStage.member(2)),
    ]

    @Test("table matches the model", arguments: UInt64(1)...8)
    func history(seed: UInt64) throws {
        let stage = try StoreStage()
        var random = SeededGenerator(state: seed)
        var model: [Key: Entry] = [:]
        for step in 0..<250 {
            let key = Key(
                chat: Int64.random(in: 1...2, using: &random),
                author: try #require(Self.authors.randomElement(using: &random)),
                id: StoreStage.message(Int.random(in: 0..<5, using: &random)))
            let time = StoreStage.now.advanced(by: .seconds(step))
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3:
                let states: [MessageRecord.State] = [.present, .onlyChanged, .deleted]
                let record = MessageRecord(
                    time: time, state: try #require(states.randomElement(using: &random)),
                    hasFile: Bool.random(using: &random))
                let item = Bool.random(using: &random) ? ItemID(Int64(step)) : nil
                try stage.change {
                    try $0.sharedMessages.keep(record, of: key.message, in: key.chat, item: item)
                }
                var entry = model[key] ?? Entry()
                (entry.time, entry.state, entry.hasFile, entry.item) = (
                    record.time, record.state, record.hasFile, item
                )
                if record.state == .present, !record.hasFile { (entry.description, entry.parts) = (nil, []) }
                model[key] = entry
            case 3:
                var entry = model[key] ?? Entry()
                let number = Int.random(in: 1...entry.parts.count + 1, using: &random)
                let part = DescriptionPart(
                    text: "part \(step)", number: number, isLast: Int.random(in: 0..<4, using: &random) == 0)
                var description = entry.description ?? PartialDescription()
                guard [.grew, .completed].contains(description.take(part)) else { continue }
                try stage.change {
                    try $0.sharedMessages.keep(description, after: part, of: key.message, in: key.chat)
                }
                entry.description = description
                entry.parts = number == 1 ? [part.text] : entry.parts + [part.text]
                model[key] = entry
            case 4:
                try stage.change { try $0.sharedMessages.noteSeen(key.message, in: key.chat) }
                model[key, default: Entry()].isSeen = true
            case 5:
                try stage.change { try $0.sharedMessages.forget(key.message, in: key.chat, at: time) }
                model[key, default: Entry()].empty()
                model[key]?.time = time
            case 6:
                let author = Bool.random(using: &random) ? SharedMessageTable.word(key.author) : nil
                try stage.change { try $0.sharedMessages.forget(key.id, by: author, in: key.chat) }
                for other in model.keys
                where other.chat == key.chat && other.id == key.id && model[other]?.item == nil
                    && (author == nil || other.author == key.author)
                {
                    model[other]?.empty()
                }
            default:
                guard
                    let item = model.values.compactMap(\.item).sorted(by: { $0.rawValue < $1.rawValue })
                        .randomElement(using: &random)
                else { continue }
                try stage.change { try $0.sharedMessages.prune(item) }
                for other in model.keys where model[other]?.item == item {
                    if other.author == .own { model[other] = nil } else { model[other]?.empty() }
                }
            }
            if step % 5 == 0 { try compare(stage, model) }
        }
        try compare(stage, model)
        #expect(model.count > 20)
    }

    private func compare(_ stage: StoreStage, _ model: [Key: Entry]) throws {
        try stage.change { tables in
            let table = tables.sharedMessages
            for chat: Int64 in [1, 2] {
                for author in Self.authors {
                    for id in (0..<5).map({ StoreStage.message($0) }) {
                        let key = Key(chat: chat, author: author, id: id)
                        let entry = model[key]
                        #expect(try table.record(of: key.message, in: chat) == entry?.record)
                        #expect(try table.isSeen(key.message, in: chat) == entry?.isSeen ?? false)
                        #expect(try table.description(of: key.message, in: chat) == entry?.description)
                        let text = try table.descriptionText(of: key.message, in: chat)
                        #expect(text == entry?.parts.joined() ?? "")
                        #expect(try table.item(key.message, in: chat) == entry?.item)
                    }
                }
                let waiting = model.filter {
                    $0.key.chat == chat && $0.value.description != nil && !$0.value.hasFile
                        && [nil, .onlyChanged].contains($0.value.state)
                }
                #expect(try table.waitingDescriptions(by: nil, in: chat) == waiting.count)
                for author in Self.authors {
                    let own = waiting.filter { $0.key.author == author }
                    #expect(try table.waitingDescriptions(by: author, in: chat) == own.count)
                }
                for member in [StoreStage.member(1), StoreStage.member(2)] {
                    let keys = model.filter {
                        $0.key.chat == chat && $0.key.author == .member(member) && $0.value.item != nil
                    }
                    #expect(try Set(table.keys(by: member, in: chat)) == Set(keys.keys.map(\.message)))
                }
            }
            for (key, entry) in model {
                guard let item = entry.item else { continue }
                let sent = try table.sent(item)
                #expect(sent?.id == (key.author == .own ? key.id : nil))
                #expect(sent?.chat == (key.author == .own ? key.chat : nil))
            }
        }
    }
}
