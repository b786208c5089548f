import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

/// Compares groups with a list of all messages. Each member must receive each message once, in its author's
/// order, while programs, the relay and connections stop and restart.
@Suite("Groups against a model", .serialized)
struct MembershipModelTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func membersReceiveEachMessageOnce(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let club = try await Club(["alice", "bob", "carol", "dave"])
        var inside: [Machine] = []
        var written: [(author: Machine, text: String, readers: [Machine])] = []
        for number in 0..<36 {
            // Members join at various times while others write.
            if inside.count < 2 || number % 8 == 0, inside.count < club.machines.count {
                let next = club.machines[inside.count]
                try await club.admit(next)
                inside.append(next)
                continue
            }
            let machine = try #require(inside.randomElement(using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<7:
                let text = ComposedText(id: "\(number)", text: "\(machine.name) \(number)")
                try await machine.core.send(text, to: machine.core.chat(named: "club"))
                if Int.random(in: 0..<3, using: &random) == 0 { try await machine.reopen() }
                // Repeats a message of unknown outcome.
                try await machine.core.send(text, to: machine.core.chat(named: "club"))
                written.append((machine, text.text, inside.filter { $0.name != machine.name }))
            case 7, 8: try await machine.reopen()
            default:
                await club.internet.stop()
                try club.internet.start()
            }
        }
        for reader in club.machines {
            for author in club.machines where author.name != reader.name {
                let texts = written.filter { written in
                    written.author.name == author.name && written.readers.contains { $0.name == reader.name }
                }.map { "\(author.name): \($0.text)" }
                let heard = try await wait(for: "\(reader.name) hears all of \(author.name)") {
                    let heard = try await reader.heard().filter { $0.hasPrefix(author.name) }
                    return Set(texts).isSubset(of: heard) ? heard : nil
                }
                #expect(heard.count == Set(heard).count, "\(reader.name) hears \(heard)")
                #expect(Set(heard) == Set(texts), "\(reader.name) hears \(heard)")
            }
        }
        // Finally, all members are independent of the host.
        try await wait(until: "each pair is connected") { club.host.isMesh }
        club.host.stopPassingOn()
        for machine in club.machines { try await machine.write("last of \(machine.name)") }
        for machine in club.machines {
            try await wait(until: "\(machine.name) hears the last of all") {
                try await machine.heard().count { $0.contains("last of") } == 3
            }
        }
        try await club.end()
    }
}
