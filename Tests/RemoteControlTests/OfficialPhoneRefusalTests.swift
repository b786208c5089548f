import Base
import JSON
import TestSupport
import Testing

@testable import RemoteControl

@Suite(
    "The official program as a phone that is refused or busy",
    .enabled(if: !OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with simplex-chat"))
struct OfficialPhoneRefusalTests {
    private static let versions = AppVersionRange(AppVersion("6.3")!, AppVersion("99.0")!)!
    private static let chats =
        #"/_get chats 1 pcc=off count=1000 {"type":"filters","favorite":false,"unread":false}"#

    /// The phone scans the link, and its user compares the codes and says yes.
    private static func session(
        _ computer: Computer, with phone: OfficialPhone
    ) async throws -> PhoneConnection {
        for _ in 0..<4 {
            try await phone.waitUntilFree()
            do {
                let shown = try await phone.connect(computer.listener.link)
                try await wait(until: "the codes are equal") {
                    try await computer.code().description == shown
                }
                try await phone.verify(shown)
                break
            } catch is OfficialPhone.TooLate { continue }
        }
        return try await computer.connection()
    }

    @discardableResult
    private static func ask(_ command: String, _ connection: PhoneConnection) async throws -> JSONValue {
        let answer = try await connection.ask(.command(PhoneCommand(command), retry: 0))
        guard case .response(let result) = answer else { throw WaitedInVain("\(command): \(answer)") }
        return result
    }

    @Test func anotherPhoneIsRefusedAndTheKnownOneIsNot() async throws {
        let (phone, other) = (try await OfficialPhone(), try await OfficialPhone())
        let first = try Computer(versions: Self.versions)
        try await Self.ask("/user", Self.session(first, with: phone))
        await first.listener.stop()
        var pairing = first.pairing
        pairing.phone = first.phones.last
        let second = try Computer(pairing, versions: Self.versions)
        let refusal = await #expect(throws: WaitedInVain.self) {
            _ = try await other.connect(second.listener.link)
        }
        #expect(refusal?.description.contains("identity") == true, "\(refusal?.description ?? "")")
        _ = try await second.refused()
        #expect(second.phones.isEmpty)
        // The link still serves its phone.
        try await Self.ask("/user", Self.session(second, with: phone))
        #expect(second.phones.last?.authority == pairing.phone?.authority)
        await second.listener.stop()
    }

    @Test func wrongCodeBeginsNoSession() async throws {
        let phone = try await OfficialPhone()
        let computer = try Computer(versions: Self.versions)
        let shown = try await phone.connect(computer.listener.link)
        let wrong = (shown.hasPrefix("1") ? "2" : "1") + shown.dropFirst()
        await #expect(throws: (any Error).self) { try await phone.verify(wrong) }
        _ = try await computer.gaveUp()
        #expect(computer.phones.isEmpty)
        try await Self.ask("/user", Self.session(computer, with: phone))
        await computer.listener.stop()
    }

    @Test func unconfirmedCodeBeginsNoSession() async throws {
        let phone = try await OfficialPhone()
        let computer = try Computer(confirmation: .seconds(10), versions: Self.versions)
        let shown = try await phone.connect(computer.listener.link)
        #expect(try await computer.gaveUp().code == .timeout)
        #expect(computer.phones.isEmpty)
        // Its user is too late, and scans again.
        await #expect(throws: (any Error).self) { try await phone.verify(shown) }
        #expect(computer.phones.isEmpty)
        try await Self.ask("/user", Self.session(computer, with: phone))
        await computer.listener.stop()
    }

    @Test func phoneServesOneComputerAtATime() async throws {
        let phone = try await OfficialPhone()
        let (first, second) = (
            try Computer(versions: Self.versions), try Computer(versions: Self.versions)
        )
        let connection = try await Self.session(first, with: phone)
        let refusal = await #expect(throws: WaitedInVain.self) {
            _ = try await phone.connect(second.listener.link)
        }
        #expect(refusal?.description.contains("busy") == true, "\(refusal?.description ?? "")")
        try await Self.ask("/user", connection)
        #expect(second.phones.isEmpty)
        await second.listener.stop()
        await first.listener.stop()
    }

    @Test func busyDatabaseOfThePhoneOnlyDelaysAnswers() async throws {
        let phone = try await OfficialPhone()
        let computer = try Computer(versions: Self.versions)
        let connection = try await Self.session(computer, with: phone)
        // Takes seconds.
        let slow = Task {
            try await phone.command(
                "/sql chat WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000000) "
                    + "SELECT count(*) FROM n")
        }
        let event = Task { try await connection.ask(.nextEvent(.seconds(20))) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await Self.ask(Self.chats, connection) } }
            try await group.waitForAll()
        }
        #expect(try await slow.value.contains("20000000"))
        event.cancel()
        try await Self.ask("/user", connection)
        #expect(connection.isOpen)
        await computer.listener.stop()
    }
}
