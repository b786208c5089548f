import TestSupport
import Testing

/// Ends without warning between ChatFS's own core and the official program: everything that was said to be stored
/// arrives, whole and once.
@Suite(
    "Somebody is killed while ChatFS's own core and the official program exchange files", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OwnCoreKillTests {
    /// Milliseconds after the last thing was begun.
    private static let moments = [0, 50, 250, 1000]
    private static let size = 6 << 20

    @Test("the mount")
    func mount() async throws {
        let pair = try await OwnCorePair.start()
        for (number, moment) in Self.moments.enumerated() {
            try await pair.offer("hers \(number).bin", count: Self.size)
            try await pair.copyIn("own \(number).bin", count: Self.size)
            try await pair.write("own text \(number)")
            try await pair.client.command("@reader her text \(number)")
            if number > 0 { try await pair.askFor("own \(number - 1).bin") }
            try await Task.sleep(for: .milliseconds(moment))
            try await pair.killMount()
        }
        try await expectEverything(pair)
        try await pair.end()
    }

    /// Its own upload is over by then: killed at the end of one, it forgets to tell where the file is, as in
    /// `CoreRestartTests`.
    @Test("the official program")
    func program() async throws {
        let pair = try await OwnCorePair.start()
        for (number, moment) in Self.moments.enumerated() {
            try await pair.offer("hers \(number).bin", count: Self.size)
            try await pair.client.event(
                "sndFileCompleteXFTP", with: "\"fileName\":\"hers \(number).bin\"", within: .seconds(120))
            try await pair.copyIn("own \(number).bin", count: Self.size)
            if number > 0 { try await pair.askFor("own \(number - 1).bin") }
            try await Task.sleep(for: .milliseconds(moment))
            try await pair.killProgram { try await pair.write("own text \(number)") }
            try await pair.client.command("@reader her text \(number)")
        }
        try await expectEverything(pair)
        try await pair.end()
    }

    /// It keeps messages in memory: those that nobody had got yet go with it. So nothing is in its queues when it is
    /// killed; files are under way, and what is written meanwhile waits for it.
    @Test("the official server for messages")
    func server() async throws {
        let pair = try await OwnCorePair.start()
        for (number, moment) in Self.moments.enumerated() {
            let (own, hers) = ("own \(number).bin", "hers \(number).bin")
            try await pair.offer(hers, count: Self.size)
            try await pair.copyIn(own, count: Self.size)
            try await wait(until: "\(own) is offered to olga", within: .seconds(90)) {
                try await pair.count(atOlga: .file(own)) == 1
            }
            try await pair.askFor(own)
            try await wait(until: "\(hers) is offered here", within: .seconds(90)) {
                try pair.names().contains(hers)
            }
            try await Task.sleep(for: .milliseconds(moment))
            try await pair.relays.messages.kill()
            try await pair.write("own text \(number)")
            try await pair.client.command("@reader her text \(number)")
            try await pair.relays.messages.start()
        }
        try await expectEverything(pair)
        try await pair.end()
    }

    private func expectEverything(_ pair: OwnCorePair) async throws {
        for number in Self.moments.indices {
            try await pair.waitUntilReceived("own \(number).bin")
            try await pair.waitUntilRead("hers \(number).bin")
            try await wait(until: "own text \(number) is there", within: .seconds(60)) {
                try await pair.count(atOlga: .text("own text \(number)")) > 0
            }
            try await wait(until: "her text \(number) is here", within: .seconds(60)) {
                try pair.count(here: "her text \(number)") > 0
            }
        }
        // What is said now comes behind all that may still repeat something.
        try await pair.write("the end")
        try await pair.client.command("@reader the end of hers")
        try await wait(until: "the end is here and there", within: .seconds(90)) {
            let there = try await pair.count(atOlga: .text("the end"))
            return try there > 0 && pair.count(here: "the end of hers") > 0
        }
        for number in Self.moments.indices {
            #expect(try await pair.count(atOlga: .file("own \(number).bin")) == 1)
            #expect(try await pair.count(atOlga: .text("own text \(number)")) == 1)
            #expect(try pair.count(here: "her text \(number)") == 1)
        }
        let names = Self.moments.indices.flatMap { ["own \($0).bin", "hers \($0).bin"] }
        #expect(try pair.names().sorted() == names.sorted())
    }
}
