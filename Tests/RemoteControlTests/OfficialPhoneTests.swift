import Base
import Cryptography
import JSON
import Network
import TestSupport
import Testing

@testable import RemoteControl

@Suite(.enabled(if: !OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with simplex-chat"))
struct OfficialPhoneTests {
    private static let versions = AppVersionRange(AppVersion("6.3")!, AppVersion("99.0")!)!

    private struct Session {
        let listener: PhoneListener
        let connection: PhoneConnection
        let pairing: Pairing
    }

    /// Pairs or reconnects over a link.
    private static func begin(_ phone: OfficialPhone, _ pairing: Pairing) async throws -> Session {
        for _ in 0..<4 {
            do { return try await attempt(phone, pairing) } catch is OfficialPhone.TooLate { continue }
        }
        return try await attempt(phone, pairing)
    }

    private static func attempt(_ phone: OfficialPhone, _ pairing: Pairing) async throws -> Session {
        let seen = Lock<(code: SessionCode?, connection: PhoneConnection?, phone: Pairing.Phone?)>(
            (nil, nil, nil))
        let listener = try PhoneListener.start(
            PhoneListenerSettings(
                endpoint: Endpoint(host: "127.0.0.1", port: 0), versions: versions,
                name: DeviceName("a+b 50% \"ü\" <Computer>")),
            pairing: pairing, time: 1_800_000_000,
            remember: { phone in seen.withLock { $0.phone = phone } },
            observe: { event in
                switch event {
                case .confirm(let code): seen.withLock { $0.code = code }
                case .connected(let connection): seen.withLock { $0.connection = connection }
                default: break
                }
            })
        let shown: String
        do {
            shown = try await phone.connect(listener.link)
            try await phone.verify(shown)
        } catch {
            await listener.stop()
            throw error
        }
        let code = try #require(seen.withLock { $0.code })
        #expect(code.description == shown)
        let connection = try await wait(for: "a session") { seen.withLock { $0.connection } }
        var known = pairing
        known.phone = seen.withLock { $0.phone }
        return Session(listener: listener, connection: connection, pairing: known)
    }

    private static func ask(_ command: String, _ connection: PhoneConnection) async throws -> JSONValue {
        let answer = try await connection.ask(.command(PhoneCommand(command), retry: 0))
        guard case .response(let result) = answer else { throw WaitedInVain("\(command): \(answer)") }
        return result
    }

    @Test func pairsStoresSendsAndFetches() async throws {
        let phone = try await OfficialPhone()
        let session = try await Self.begin(phone, .make())
        let connection = session.connection
        #expect(connection.phone.encoding == .kotlin && connection.phone.deviceName == "Telephone")
        let user = try await Self.ask("/user", connection)
        #expect(user.type == "activeUser")
        // A request for events waits meanwhile.
        let event = Task { try await connection.ask(.nextEvent(.seconds(20))) }
        let content = SystemRandomSource().bytes(300_001)
        let stored = try await connection.ask(
            .storeFile(
                name: "a b.bin", size: UInt64(content.count), digest: SHA512.hash(content)),
            attachment: BytesBody(content))
        guard case .stored(let path) = stored else {
            Issue.record("\(stored)")
            return
        }
        let sent = try await Self.ask(
            #"/_create *1 json [{"fileSource":{"filePath":\#(JSONText.string(path))},"#
                + #""msgContent":{"type":"file","text":""},"mentions":{}}]"#, connection)
        let file = try #require(sent["chatItems"]?.elements.first?["chatItem"]?["file"])
        let number = try #require(file["fileId"]?.integer)
        let fetched = CollectedBody(limit: content.count)
        let answer = try await connection.ask(
            .fetchFile(PhoneFile(user: 1, file: number, isSent: true, path: path, arguments: nil)),
            file: fetched)
        guard case .file = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(fetched.bytes == content)
        // A file other than that of the phone's record.
        guard
            case .refusal = try await connection.ask(
                .fetchFile(PhoneFile(user: 1, file: number, isSent: true, path: "other", arguments: nil)),
                file: CollectedBody(limit: 1))
        else {
            Issue.record("a file under another name")
            return
        }
        event.cancel()
        // A cancelled request ends nothing else.
        #expect(try await Self.ask("/user", connection).type == "activeUser")
        await session.listener.stop()
    }

    @Test func reconnectsWithTheKnownPhone() async throws {
        let phone = try await OfficialPhone()
        let first = try await Self.begin(phone, .make())
        #expect(try await Self.ask("/user", first.connection).type == "activeUser")
        await first.listener.stop()
        try await phone.waitUntilFree()
        let second = try await Self.begin(phone, first.pairing)
        #expect(try await Self.ask("/user", second.connection).type == "activeUser")
        #expect(second.pairing.phone?.authority == first.pairing.phone?.authority)
        #expect(second.pairing.phone?.agreementKey != first.pairing.phone?.agreementKey)
        // Another phone with the link of this pairing is refused.
        await second.listener.stop()
    }
}
