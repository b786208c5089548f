import Base
import Glibc
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// Connections with the official program over the official server, in both roles.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialProgramTests {
    /// Runs one command of the official program for a few seconds and returns its output.
    private static func official(_ command: String, _ relays: OfficialRelays, seconds: Int = 5) async throws
        -> String
    {
        if access(relays.folder.path("alice"), F_OK) != 0 { _ = try relays.folder.makeFolder("alice") }
        return try await Shell.script(
            """
            printf '%s\\n' alice | "$PROGRAM" -d "$DATABASE" -y -s "$MESSAGES" --xftp-server "$FILES" \
                -e "$COMMAND" -t "$SECONDS_TO_LIVE"
            """,
            environment: [
                "LC_ALL": "C.UTF-8", "PROGRAM": OfficialPrograms.path("simplex-chat"),
                "DATABASE": relays.folder.path("alice") + "/db", "MESSAGES": relays.messages.address,
                "FILES": relays.files.address, "COMMAND": command, "SECONDS_TO_LIVE": "\(seconds)",
            ]
        ).output
    }

    private static let profile = bytes(
        #"{"v":"1-16","event":"x.info","params":{"profile":{"displayName":"chatfs","fullName":""}}}"#)

    private static func text(_ text: String) -> [UInt8] {
        // A message id of 12 bytes, unique per message.
        let id = Base64URL.encode(SystemRandomSource().bytes(12))
        return bytes(
            #"{"v":"1-16","msgId":"\#(id)","event":"x.msg.new","params":{"content":{"type":"text","text":"\#(text)"}}}"#
        )
    }

    /// Sends a message in each direction.
    private static func converse(_ person: Person, _ connection: ConnectionID, _ relays: OfficialRelays)
        async throws
    {
        let number = try await person.agent.send(
            text("hello from us"), to: connection, notifies: true, identifier: nil)
        _ = try await official("@chatfs hello from alice", relays)
        #expect(try await official("/tail", relays, seconds: 1).contains("hello from us"))
        await person.diary.wait { events in
            events.contains { event in
                guard case .received(let message) = event.content else { return false }
                return String(decoding: message.body, as: UTF8.self).contains("hello from alice")
            }
        }
        // Its receipt, perhaps in the program's next run.
        _ = try await official("/contacts", relays, seconds: 3)
        await person.diary.wait { $0.contains { $0.content == .delivered(message: number) } }
    }

    /// Checks that both use the KEM if it is installed, otherwise neither.
    private static func checkProtection(
        _ person: Person, _ connection: ConnectionID, _ relays: OfficialRelays
    ) async throws {
        for round in 1...3 {
            _ = try await person.agent.send(
                text("round \(round)"), to: connection, notifies: true, identifier: nil)
            _ = try await official("@chatfs answer \(round)", relays)
            await person.diary.wait { events in
                events.contains { event in
                    guard case .received(let message) = event.content else { return false }
                    return String(decoding: message.body, as: UTF8.self).contains("answer \(round)")
                }
            }
        }
        let security = try await person.agent.security(of: connection)
        #expect(security?.isPostQuantum == (GcryptKEM.installed != nil))
        let shown = try await official("/i chatfs", relays, seconds: 1)
        #expect(shown.contains("quantum resistant") == (GcryptKEM.installed != nil), "\(shown)")
    }

    @Test(arguments: [true, false]) func officialProgramJoinsOurLink(isShort: Bool) async throws {
        let relays = try await OfficialRelays()
        let server = try #require(ServerAddress(relays.messages.address))
        let person = try await RealServers.person(on: server)
        let data = #"{"profile":{"displayName":"chatfs","fullName":""},"business":false}"#
        let invited = try await person.agent.invite(
            Invitation(kind: .oneTime, server: server, information: Self.profile, linkData: bytes(data)))
        let link = isShort ? try #require(invited.links.short).link : invited.links.full.link
        _ = try await Self.official("/connect \(link)", relays, seconds: 8)
        await person.diary.wait { $0.contains { $0.isConnected } }
        _ = try await Self.official("/contacts", relays)
        try await Self.converse(person, invited.connection, relays)

        try await person.agent.rotate(invited.connection, to: server)
        _ = try await Self.official("/contacts", relays, seconds: 6)
        await person.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.isRotating == false
        }
        try await person.agent.resynchronise(invited.connection)
        _ = try await Self.official("/contacts", relays, seconds: 6)
        await person.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.synchronisation == .synchronised
                && events.contains { $0.condition?.synchronisation == .agreed }
        }
        _ = try await person.agent.send(
            Self.text("after all that"), to: invited.connection, notifies: true, identifier: nil)
        _ = try await Self.official("/contacts", relays, seconds: 6)
        #expect(try await Self.official("/tail", relays, seconds: 1).contains("after all that"))
        try await Self.checkProtection(person, invited.connection, relays)
        let code = try #require(try await person.agent.security(of: invited.connection)?.code)
        let shown = try await Self.official("/code chatfs", relays, seconds: 1)
        #expect(shown.filter { !$0.isWhitespace }.contains(code.filter { !$0.isWhitespace }))
        await person.end()
        try await relays.stop()
    }

    @Test func joinsLinkOfOfficialProgram() async throws {
        let relays = try await OfficialRelays()
        let server = try #require(ServerAddress(relays.messages.address))
        let person = try await RealServers.person(on: server)
        let said = try await Self.official("/connect", relays, seconds: 2)
        let link = String(
            try #require(said.firstMatch(of: /(?:simplex:|https:\/\/)\S*\/(?:i|invitation)#\S+/)).output)
        let connection = try await person.agent.join(link: link, information: Self.profile, confirmation: [])
        _ = try await Self.official("/contacts", relays, seconds: 6)
        await person.diary.wait { $0.contains { $0.isConnected } }
        try await Self.converse(person, connection, relays)
        try await Self.checkProtection(person, connection, relays)
        await person.end()
        try await relays.stop()
    }
}
