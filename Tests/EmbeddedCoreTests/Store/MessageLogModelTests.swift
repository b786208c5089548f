import Base
import ChatCore
import ChatProtocol
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// Lines of several chats, written, blanked and read in parts, compared with byte arrays.
@Suite("Message log against a model")
struct MessageLogModelTests {
    private struct Written {
        var line: MessageLine
        var bytes: [UInt8]
        var isBlank = false
    }

    private struct Model {
        var lines: [Written] = []
        var modified = StoreStage.now

        var bytes: [UInt8] { lines.flatMap(\.bytes) }

        mutating func blank(_ id: SharedMessageID, by author: Author?, at time: Timestamp) {
            let member: String? = if case .member(let id)? = author { id.text } else { nil }
            for place in lines.indices
            where lines[place].line.id == id && (author == nil || lines[place].line.author == author) {
                lines[place].bytes = MessageLogTable.blank(
                    id.text, by: member, length: lines[place].bytes.count)
                lines[place].isBlank = true
            }
            modified = max(modified.advanced(by: .nanoseconds(1)), time)
        }
    }

    private static func line(_ random: inout SeededGenerator, at time: Timestamp) -> MessageLine {
        let id = StoreStage.message(Int.random(in: 0..<6, using: &random))
        let direction: ChatItem.Direction = Bool.random(using: &random) ? .sent : .received
        let words = ["", "hello", "ü\u{1F600}", String(repeating: "x", count: 300), "\n\u{1B}[2J"]
        var line = MessageLine(
            MessageLine.Event.allCases.randomElement(using: &random)!, of: id, at: time, direction,
            by: "zoe", ChatContent(.text, text: words.randomElement(using: &random)!))
        if Bool.random(using: &random) {
            line.disappears = time.advanced(by: .seconds(Int.random(in: 1...500, using: &random)))
        }
        if direction == .received, Bool.random(using: &random) {
            line.author = .member(StoreStage.member(7))
        }
        return line
    }

    @Test("lines contain no control characters")
    func printable() {
        let line = MessageLine(
            .message, of: StoreStage.message(1), at: StoreStage.now, .received, by: "z\u{202e}oe",
            ChatContent(.text, text: "\u{9b}2J\u{2066}\r\n"))
        let text = String(decoding: line.bytes.dropLast(), as: UTF8.self)
        #expect(text.unicodeScalars.allSatisfy { !$0.isDisplayControl })
        #expect(!text.contains("member"))
        #expect(text.contains("\\u009b2J\\u2066\\r\\n") && text.contains("z\\u202eoe"))
    }

    @Test("any part equals the model's bytes", arguments: UInt64(1)...6)
    func parts(seed: UInt64) throws {
        let stage = try StoreStage()
        let chats = try stage.change { tables in
            try (0..<3).map { _ in
                try tables.chats.insertContact("zoe", of: stage.alice, at: StoreStage.now)
            }
        }
        var random = SeededGenerator(state: seed)
        var models = [Model](repeating: Model(), count: chats.count)
        var time = StoreStage.now
        for step in 0..<150 {
            time = time.advanced(by: .seconds(Int.random(in: 0...9, using: &random)))
            let place = Int.random(in: 0..<chats.count, using: &random)
            let deed = Int.random(in: 0..<4, using: &random)
            let line = Self.line(&random, at: time)
            let author = deed == 0 && step % 3 == 0 ? nil : line.author
            try stage.change { tables in
                if deed > 0 {
                    try tables.messageLog.append(line, to: chats[place], at: time, request: "\(step)")
                } else if !models[place].lines.isEmpty {
                    let text = MessageLogTable.Text(
                        chat: chats[place], id: line.id, author: author.map(SharedMessageTable.word))
                    try tables.messageLog.blank(text, at: time)
                }
            }
            if deed > 0 {
                models[place].lines.append(Written(line: line, bytes: line.bytes))
                models[place].modified = time
            } else if !models[place].lines.isEmpty {
                models[place].blank(line.id, by: author, at: time)
            }
            let whole = models[place].bytes
            let start = Int.random(in: 0...whole.count + 10, using: &random)
            let count = Int.random(in: 0...whole.count + 10, using: &random)
            let part = try stage.change {
                try $0.messageLog.bytes(of: chats[place], from: UInt64(start), count: count)
            }
            #expect(part == Array(whole.dropFirst(start).prefix(count)), "\(step)")
        }
        try compare(stage, chats, models)
    }

    private func compare(_ stage: StoreStage, _ chats: [Int64], _ models: [Model]) throws {
        let logs = try stage.change { try $0.messageLog.logs(of: stage.alice) }
        #expect(logs.count == models.count { !$0.lines.isEmpty })
        #expect(try stage.change { try $0.messageLog.logs(of: stage.bob) }.isEmpty)
        for (chat, model) in zip(chats, models) where !model.lines.isEmpty {
            let log = try #require(logs[.direct(chat)])
            #expect(log.size == UInt64(model.bytes.count) && log.modified == model.modified)
            #expect(try stage.change { try $0.messageLog.log(of: chat) } == log)
            try stage.change { (tables) throws in
                #expect(try tables.messageLog.bytes(of: chat, from: 0, count: .max) == model.bytes)
                for (offset, count) in [(UInt64.max, 5), (log.size, 5), (0, 0), (0, -1), (5, .min)] {
                    #expect(try tables.messageLog.bytes(of: chat, from: offset, count: count).isEmpty)
                }
                for number in 0..<7 {
                    let id = StoreStage.message(number)
                    let isThere = model.lines.contains { $0.line.id == id && $0.line.author == .own }
                    #expect(try tables.messageLog.holdsOwn(id, in: chat) == isThere)
                }
            }
            // Each line begins with an event or a blank.
            let lines = model.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            #expect(lines.count == model.lines.count + 1 && lines.last?.isEmpty == true)
        }
    }

    @Test("lines of a group name the author's id")
    func members() throws {
        var line = MessageLine(
            .message, of: StoreStage.message(1), at: StoreStage.now, .received, by: "zoe",
            ChatContent(.text, text: "x"))
        line.author = .member(StoreStage.member(7))
        let named = #""id":"\#(StoreStage.message(1).text)""#
        let member = #""member":"\#(StoreStage.member(7).text)""#
        let text = String(decoding: line.bytes, as: UTF8.self)
        #expect(text.contains(named) && text.contains(member))
        // It also fits into the blank line, but not into one of an earlier release without it.
        for (length, isNamed) in [(line.bytes.count, true), (named.utf8.count + 25, false)] {
            let blank = MessageLogTable.blank(
                StoreStage.message(1).text, by: StoreStage.member(7).text, length: length)
            #expect(blank.count == length)
            let text = String(decoding: blank, as: UTF8.self)
            #expect(text.contains(member) == isNamed && text.contains("}") && text.contains(named))
        }
    }

    @Test("expired texts are listed in order once")
    func disappearing() throws {
        let stage = try StoreStage()
        var random = SeededGenerator(state: 5)
        let (own, other) = try stage.change { tables in
            (
                try tables.chats.insertContact("zoe", of: stage.alice, at: StoreStage.now),
                try tables.chats.insertContact("yan", of: stage.bob, at: StoreStage.now)
            )
        }
        #expect(try stage.change { try $0.messageLog.nextExpiry(of: stage.alice) } == nil)
        var ends: [(id: SharedMessageID, end: Timestamp)] = []
        for number in 0..<30 {
            var line = MessageLine(
                .message, of: StoreStage.message(number), at: StoreStage.now, .received, by: "zoe")
            let end = StoreStage.now.advanced(by: .seconds(Int.random(in: 1...1000, using: &random)))
            if number % 5 != 0 { line.disappears = end }
            let made = line
            try stage.change { tables in
                for chat in [own, other] {
                    try tables.messageLog.append(made, to: chat, at: StoreStage.now, request: nil)
                }
            }
            if number % 5 != 0 { ends.append((line.id, end)) }
        }
        ends.sort { $0.end < $1.end }
        while let next = ends.first {
            try stage.change { tables in
                #expect(try tables.messageLog.nextExpiry(of: stage.alice) == next.end)
                let before = next.end.advanced(by: .nanoseconds(-1))
                #expect(try tables.messageLog.disappeared(of: stage.alice, at: before, count: 9).isEmpty)
                let due = try tables.messageLog.disappeared(of: stage.alice, at: next.end, count: 1)
                #expect(due.count == 1 && due[0].chat == own && due[0].author == "contact")
                let place = try #require(ends.firstIndex { $0.id == due[0].id })
                #expect(ends[place].end == next.end)
                try tables.messageLog.blank(due[0], at: next.end)
                ends.remove(at: place)
            }
        }
        #expect(try stage.change { try $0.messageLog.nextExpiry(of: stage.alice) } == nil)
        #expect(try stage.change { try $0.messageLog.nextExpiry(of: stage.bob) } != nil)
        let late = StoreStage.now.advanced(by: .seconds(5000))
        let left = try stage.change {
            try $0.messageLog.disappeared(of: stage.bob, at: late, count: 10)
        }
        #expect(left.count == 10, "no more than asked for")
    }

    @Test("requests and items are found in their chat")
    func known() throws {
        let stage = try StoreStage()
        let item = try stage.file(.sndComplete).item
        let chat = try stage.change { try $0.chats.insertContact("zoe", of: stage.alice, at: StoreStage.now) }
        var line = MessageLine(.message, of: StoreStage.message(1), at: StoreStage.now, .sent, by: "me")
        line.file = MessageLine.File(name: "a", size: 1, item: item)
        let made = line
        try stage.change { tables in
            try tables.messageLog.append(made, to: chat, at: StoreStage.now, request: "r")
            #expect(try tables.messageLog.holds(request: "r", in: chat))
            #expect(try !tables.messageLog.holds(request: "r", in: chat + 1))
            #expect(try !tables.messageLog.holds(request: "R", in: chat))
            #expect(try tables.messageLog.text(of: item)?.id == made.id)
            #expect(try tables.messageLog.text(of: ItemID(999)) == nil)
            let text = try #require(try tables.messageLog.text(of: item))
            #expect(text.chat == chat && text.id == made.id && text.author == "own")
            #expect(try tables.messageLog.text(of: ItemID(999)) == nil)
        }
        #expect(throws: StoreError.self, "the same request is not two messages") {
            try stage.change { try $0.messageLog.append(made, to: chat, at: StoreStage.now, request: "r") }
        }
    }

    @Test("blank has the line's length")
    func blanks() {
        let id = StoreStage.message(300)
        for length in 0...200 {
            let blank = MessageLogTable.blank(id.text, length: length)
            #expect(blank.count == max(length, 1), "\(length)")
            #expect(blank.last == UInt8(ascii: "\n") && blank.count { $0 == UInt8(ascii: "\n") } == 1)
        }
        let text = String(decoding: MessageLogTable.blank(id.text, length: 120), as: UTF8.self)
        #expect(text.hasPrefix(#"{"event":"disappeared","id":"\#(id.text)"}"#))
    }
}

/// Results of group messages by member, in every order.
@Suite("Group deliveries against a model")
struct GroupDeliveryModelTests {
    @Test(
        "last result settles a message", arguments: 1...4)
    func outcomes(members: Int) throws {
        let kinds: [HandedMessageTable.Outcome] = [.delivered, .failed("one"), .failed("two")]
        var histories: [[HandedMessageTable.Outcome]] = [[]]
        for _ in 0..<members { histories = histories.flatMap { base in kinds.map { base + [$0] } } }
        let stage = try StoreStage()
        let chat = try stage.group(1)
        for (number, history) in histories.enumerated() {
            let message = HandedMessageTable.Message(id: StoreStage.message(number), item: ItemID(5))
            try stage.change { tables in
                let table = tables.groupDeliveries
                let delivery = try table.begin(message, in: chat, to: members, at: StoreStage.elapsed)
                #expect(try table.item(of: delivery) == ItemID(5))
                for (place, outcome) in history.enumerated() {
                    // The outcome `sent` settles no message.
                    #expect(try table.note(.sent, of: delivery) == nil)
                    let settled = try table.note(outcome, of: delivery)
                    guard place == members - 1 else {
                        #expect(settled == nil)
                        continue
                    }
                    #expect(settled?.chat == chat && settled?.message.id == message.id)
                    #expect(settled?.message.item == ItemID(5))
                    let last = history.last { $0 != .delivered }
                    #expect(settled?.outcome == (history.contains(.delivered) ? .delivered : last))
                }
                #expect(try table.note(.delivered, of: delivery) == nil, "it is settled once")
                #expect(try table.item(of: delivery) == nil)
            }
        }
        #expect(try stage.count("group_delivery") == 0)
    }

    @Test("next message drops rows older than a month")
    func old() throws {
        let stage = try StoreStage()
        let message = HandedMessageTable.Message(id: StoreStage.message(1), item: nil)
        try stage.change { tables in
            let table = tables.groupDeliveries
            let times = [0, 1, 40].map { StoreStage.elapsed.advanced(by: .seconds($0 * 86_400)) }
            let first = try table.begin(message, in: 1, to: 1, at: times[0])
            let other = try table.begin(message, in: 2, to: 1, at: times[0])
            _ = try table.begin(message, in: 1, to: 1, at: times[1])
            #expect(try table.note(.sent, of: first) == nil)
            let late = try table.begin(message, in: 1, to: 1, at: times[2])
            #expect(try table.note(.delivered, of: first) == nil)
            #expect(try table.note(.delivered, of: other)?.chat == 2)
            #expect(try table.note(.delivered, of: late)?.chat == 1)
        }
        #expect(try stage.count("group_delivery") == 0)
    }
}
