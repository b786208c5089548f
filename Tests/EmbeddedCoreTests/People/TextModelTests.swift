import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

/// Compares both sides' logs with a list of actions. Each action must appear once and in order, through kills
/// and restarts.
@Suite("Logs against a model", .serialized)
struct TextModelTests {
    private enum Act: Equatable {
        case text(String)
        case file(String)
        case edit(of: Int, String)
        case deletion(of: Int)
    }

    /// One side's actions in a log, with numbers for ids.
    private func acts(_ lines: [Line], _ direction: String) -> [Act] {
        var numbers: [String: Int] = [:]
        return lines.filter { $0.direction == direction && $0.event != "state" }.compactMap { line in
            if line.event == "message" {
                numbers[line.id] = numbers.count
                return line.fileName.map { .file($0) } ?? .text(line.text ?? "")
            }
            guard let number = numbers[line.id] else { return nil }
            return line.event == "edit" ? .edit(of: number, line.text ?? "") : .deletion(of: number)
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func bothLogsMatchModel(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        var done: [String: [Act]] = ["alice": [], "bob": []]
        // Includes edits by another program of the peer.
        var heard = done
        for number in 0..<40 {
            let isAlice = Bool.random(using: &random)
            let (machine, other) = isAlice ? (alice, "bob") : (bob, "alice")
            let chat = try await machine.core.chat(named: other)
            func note(_ act: Act) {
                done[machine.name]?.append(act)
                heard[machine.name]?.append(act)
            }
            let messages = try await machine.lines(of: other, count: 0).filter {
                $0.event == "message" && $0.direction == "sent"
            }
            switch Int.random(in: 0..<11, using: &random) {
            case 0..<5:
                let text = ComposedText(id: "\(number)", text: "text \(number) \u{1F600}\n")
                try await machine.core.send(text, to: chat)
                if Bool.random(using: &random) { try await machine.reopen() }
                // Repeats a message of unknown outcome.
                try await machine.core.send(text, to: chat)
                note(.text(text.text))
            case 5, 6:
                let message = try machine.core.compose([1], name: "\(number).bin", id: "file \(number)")
                _ = try await machine.core.send(message, to: chat)
                note(.file("\(number).bin"))
            case 7:
                let items = try await machine.core.items(of: chat, before: nil, count: 9)
                guard let item = items.first(where: { $0.direction == .sent }) else { continue }
                let index = try #require(messages.firstIndex { $0.item == item.id.rawValue })
                try await machine.core.deleteItems([item.id], in: chat, mode: .broadcast)
                note(.deletion(of: index))
            case 8: try await machine.reopen()
            case 9:
                guard let index = messages.indices.last(where: { messages[$0].fileName == nil }),
                    let id = SharedMessageID(text: messages[index].id)
                else { continue }
                let content = ChatContent(.text, text: "edit \(number)")
                try await machine.say(.update(MessageUpdate(id, content: content)))
                heard[machine.name]?.append(.edit(of: index, content.text))
            default:
                await internet.stop()
                try internet.start()
            }
        }
        for (machine, other) in [(alice, bob), (bob, alice)] {
            let expected = done[machine.name] ?? []
            #expect(acts(try await machine.lines(of: other.name, count: 0), "sent") == expected)
            let told = try await wait(for: "everything of \(machine.name) at \(other.name)'s") {
                let told = acts(try await other.lines(of: machine.name, count: 0), "received")
                return told.count >= (heard[machine.name] ?? []).count ? told : nil
            }
            #expect(told == heard[machine.name])
            // Each is delivered, except those deleted before.
            try await wait(until: "all of \(machine.name)'s are delivered") {
                let lines = try await machine.lines(of: other.name, count: 0)
                    .filter { $0.direction == "sent" }
                let deleted = Set(lines.filter { $0.event == "deletion" }.map(\.id))
                let delivered = Set(lines.filter { $0.state == "delivered" }.map(\.id))
                return lines.allSatisfy { deleted.contains($0.id) || delivered.contains($0.id) }
            }
        }
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }
}
