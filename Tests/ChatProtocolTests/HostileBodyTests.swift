import TestSupport
import Testing

@testable import ChatProtocol

@Suite("Hostile bodies")
struct HostileBodyTests {
    /// Decoded elements must encode, and decode equally.
    static func check(_ body: [UInt8]) {
        guard let elements = try? ChatBody.read(body, compression: Zstandard.installed) else { return }
        #expect(elements.count <= ProtocolLimits.batch)
        for case .message(let message) in elements {
            let again = ChatMessage(decoding: Array(message.json.utf8))
            #expect(again.map { ChatMessage(decoding: Array($0.json.utf8)) == $0 } == true)
        }
    }

    @Test("mutated bytes decode safely")
    func mutations() throws {
        var random = SeededGenerator(state: 11)
        let bodies =
            try Sample.events().map { Array(ChatMessage($0, id: try Sample.id()).json.utf8) }
            + [InlineChunk(of: try Sample.id(), number: 3, bytes: [1, 2, 3]).encoded]
            + [try VectorValue.file("chat")["compressed_message"].bytes]
        for _ in 0..<20_000 {
            var body = bodies[Int.random(in: 0..<bodies.count, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) where !body.isEmpty {
                let place = Int.random(in: 0..<body.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: body[place] = UInt8.random(in: 0...255, using: &random)
                case 1: body.remove(at: place)
                case 2: body.insert(body[place], at: place)
                case 3: body.removeSubrange(place...)
                default:
                    let end = Int.random(in: place...body.count, using: &random)
                    body += body[place..<end]
                }
            }
            Self.check(body)
        }
    }

    @Test("replaced values decode safely")
    func values() throws {
        let others = ["null", "0", "-1", "1e99", "\"\"", "[]", "{}", "true", "\"\\ud800\""]
        for event in try Sample.events() {
            let json = ChatMessage(event, id: try Sample.id()).json
            let starts = json.indices.filter { json[$0] == ":" }
            for start in starts {
                for other in others {
                    let rest = json[start...].dropFirst()
                    guard let end = rest.firstIndex(where: { $0 == "," || $0 == "}" }) else { continue }
                    Self.check(Array((json[...start] + other + json[end...]).utf8))
                }
            }
        }
    }
}
