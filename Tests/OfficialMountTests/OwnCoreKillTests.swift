import TestSupport
import Testing

/// Every message and file that a side stored before a kill arrives complete and once.
@Suite(
    "Kills between ChatFS's core and the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OwnCoreKillTests {
    /// Delays in milliseconds from the last command to the kill.
    private static let moments = [0, 50, 250, 1000]
    /// Milliseconds after which the mount sends a copy.
    private static let quietTime = 200
    private static let size = 6 << 20

    @Test("everything arrives after kills of the mount")
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

    /// A kill of the program loses a message that it has stored and not yet shown, and at the end of an upload
    /// the file's description. So its upload is complete before each kill, and a file of the mount is either
    /// not sent yet or completely offered. The program is killed while it receives a file.
    @Test("everything arrives after kills of the official program")
    func program() async throws {
        let pair = try await OwnCorePair.start()
        for (number, moment) in Self.moments.enumerated() {
            let own = "own \(number).bin"
            try await pair.offer("hers \(number).bin", count: Self.size)
            try await pair.client.event(
                "sndFileCompleteXFTP", with: "\"fileName\":\"hers \(number).bin\"", within: .seconds(120))
            let isOffered = moment > Self.quietTime
            if isOffered {
                try await pair.copyIn(own, count: Self.size)
                try await pair.waitUntilOffered(own)
            }
            if number > 0 {
                try await pair.waitUntilOffered("own \(number - 1).bin")
                try await wait(until: "own text \(number - 1) is there", within: .seconds(60)) {
                    try await pair.count(atOlga: .text("own text \(number - 1)")) == 1
                }
                try await pair.askFor("own \(number - 1).bin")
            }
            if !isOffered { try await pair.copyIn(own, count: Self.size) }
            try await Task.sleep(for: .milliseconds(moment))
            try await pair.killProgram { try await pair.write("own text \(number)") }
            try await pair.client.command("@reader her text \(number)")
        }
        try await expectEverything(pair)
        try await pair.end()
    }

    /// The server keeps messages in memory, and a kill loses them. So each kill happens with empty queues,
    /// during file transfers, and the later messages wait for the restart.
    @Test("everything arrives after kills of the message server")
    func server() async throws {
        let pair = try await OwnCorePair.start()
        for (number, moment) in Self.moments.enumerated() {
            let (own, hers) = ("own \(number).bin", "hers \(number).bin")
            try await pair.offer(hers, count: Self.size)
            try await pair.copyIn(own, count: Self.size)
            try await pair.waitUntilOffered(own)
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
        // These texts arrive after every possible duplicate.
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
