import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Addresses between ChatFS and the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialAddressTests {
    @Test("an official program's request becomes a contact")
    func ours() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let data = ["--data", relays.folder.path("data")]
        let made = try await ChatFSProcess.run(
            [
                "address", "create", "--profile", "reader", "--server", relays.messages.address, "--relay",
                relays.files.address,
            ] + data)
        let link = String(made.output.dropLast())
        try #require(made.succeeded, "\(made.errors)")
        try await client.command("/connect \(link)")
        try await wait(until: "olga is listed", within: .seconds(60)) {
            try await ChatFSProcess.run(["requests"] + data).output.contains("  olga")
        }
        let accepted = try await ChatFSProcess.run(["accept", "1"] + data)
        #expect(accepted.output == "olga is connected.\n", "\(accepted.errors)")
        try await client.event("contactConnected", with: "\"reader\"")
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }

    @Test("ChatFS requests contact at an official address")
    func theirs() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let answer = try await client.command("/_address 1")
        for (number, kind) in ["connShortLink", "connFullLink"].enumerated() {
            let name = "reader\(number)"
            let accept = try await ChatFSProcess.start(
                [
                    "accept", try OfficialClient.text(kind, in: answer), "--profile", name, "--data",
                    relays.folder.path(name), "--server", relays.messages.address, "--relay",
                    relays.files.address,
                ])
            let request = try await client.event("receivedContactRequest", with: "\"\(name)\"")
            #expect(accept.isRunning)
            try await client.command(
                "/_accept \(OfficialClient.number("contactRequestId", in: request))")
            #expect(try await accept.ending() == .code(0))
            #expect(accept.output == "olga is connected.\n" && accept.errors.contains("must be accepted"))
        }
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }

    @Test("the same commands manage an official core's address")
    func official() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let link = try await olga.chatfs(["address", "create"]).dropLast()
        #expect(try await olga.chatfs(["address", "show"]).dropLast() == link)
        let accept = try await ChatFSProcess.start(
            [
                "accept", String(link), "--profile", "reader", "--data", relays.folder.path("data"),
                "--server",
                relays.messages.address, "--relay", relays.files.address,
            ])
        var number = ""
        try await wait(until: "the reader is listed", within: .seconds(60)) {
            let line = try await olga.chatfs(["requests"])
            number = String(line.prefix { $0.isNumber })
            return line.contains("  reader")
        }
        #expect(try await olga.chatfs(["accept", number]) == "reader is connected.\n")
        #expect(try await accept.ending() == .code(0))
        #expect(try await olga.chatfs(["requests"]).isEmpty)
        _ = try await olga.chatfs(["address", "create", "--accept", "automatically"])
        _ = try await olga.chatfs(["address", "delete"])
        try await olga.stopProgram()
        try await relays.stop()
    }
}
