import JSON
import TestSupport
import Testing

@testable import ScriptedCore

/// Compares messages and pages of the scripted core with lists.
@Suite struct HistoryTests {
    private static let chats = ["@1", "@2", "#3", "#3(_support:9)", "*1"]

    /// All messages in order of their numbers.
    private struct Model {
        var messages: [(id: Int64, chat: String, name: String, isText: Bool)] = []
        var changes = 0

        func numbers(_ chat: String) -> [Int64] { messages.filter { $0.chat == chat }.map(\.id).sorted() }

        func files(_ isOf: (String) -> Bool, from first: Int64) -> Int {
            messages.count { isOf($0.chat) && !$0.isText && $0.id >= first }
        }
    }

    @Test("random changes match the lists", arguments: 1...20 as ClosedRange<UInt64>)
    func model(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var (history, model) = (ScriptedHistory(), Model())
        for step in 0..<200 {
            let id = Int64.random(in: 1...60, using: &random)
            let present = model.messages.firstIndex { $0.id == id }
            switch Int.random(in: 0..<4, using: &random) {
            case 0,
                1 where present == nil:
                let chat = Self.chats.randomElement(using: &random)!
                if present == nil {
                    var message = ScriptedMessage(id: id, chat: chat, name: "file \(step)")
                    if step % 3 == 0 { message.text = "hello" }
                    history.append(message)
                    model.messages.append((id, chat, "file \(step)", step % 3 == 0))
                    model.changes += 1
                }
            case 2:
                let removed = history.remove(id)
                #expect(removed?.name == present.map { model.messages[$0].name })
                if let present {
                    model.messages.remove(at: present)
                    model.changes += 1
                }
            default:
                let changed = history.change(id) { message in
                    message.name = "changed \(step)"
                    message.text = step % 2 == 0 ? nil : "hello"
                }
                #expect((changed != nil) == (present != nil))
                if let present {
                    model.messages[present].name = "changed \(step)"
                    model.messages[present].isText = step % 2 != 0
                    model.changes += 1
                }
            }
            check(history, model)
        }
    }

    private func check(_ history: ScriptedHistory, _ model: Model) {
        #expect(history.count == model.messages.count && history.changes == model.changes)
        #expect(history.newest == model.messages.map(\.id).max() ?? 0)
        for chat in Self.chats {
            #expect(history.messages(of: chat).map(\.id) == model.numbers(chat))
        }
        for message in model.messages { #expect(history[message.id]?.name == message.name) }
        #expect(history[61] == nil)
        // Group scopes count with their group.
        let counts = history.counts(from: 30)
        #expect(counts["#3", default: 0] == model.files({ $0.hasPrefix("#3") }, from: 30))
        #expect(counts["@1", default: 0] == model.files({ $0 == "@1" }, from: 30))
    }

    // MARK: - Pages

    private static func numbers(_ core: ScriptedSimpleX, _ command: String) -> [Int64]? {
        guard let answer = core.answer(command).flatMap({ JSONValue.parse(Array($0.utf8)) }),
            answer.type == "apiChat"
        else { return nil }
        return answer["chat"]?["chatItems"]?.elements.compactMap { $0["meta"]?["itemId"]?.integer }
    }

    private static func core() -> ScriptedSimpleX {
        let core = ScriptedSimpleX()
        core.change { state in
            state.history.append(
                (1...40).map { number in
                    ScriptedMessage(id: number * 10, chat: number % 4 == 0 ? "@2" : "@1", name: "f")
                })
        }
        return core
    }

    @Test("pages hold the newest, earlier or surrounding messages", arguments: [1, 3, 100])
    func pages(count: Int) {
        let core = Self.core()
        let all = (1...40).filter { $0 % 4 != 0 }.map { Int64($0 * 10) }
        #expect(Self.numbers(core, "/_get chat @1 count=\(count)") == Array(all.suffix(count)))
        for (place, anchor) in all.enumerated() {
            #expect(
                Self.numbers(core, "/_get chat @1 before=\(anchor) count=\(count)")
                    == Array(all[..<place].suffix(count)))
            let around = all[max(0, place - count)..<min(all.count, place + count + 1)]
            #expect(Self.numbers(core, "/_get chat @1 around=\(anchor) count=\(count)") == Array(around))
        }
    }

    @Test("a page at an unknown message is an error")
    func unknownAnchor() {
        let core = Self.core()
        for anchor in [5, 40, 10_000] {
            #expect(Self.numbers(core, "/_get chat @1 before=\(anchor) count=3") == nil)
        }
        #expect(Self.numbers(core, "/_get chat @9 count=3") == nil)
    }
}
