import Base
import ChatCore
import Cryptography
import Store
import TestSupport
import Testing
import XFTP

@testable import OfficialCore

@Suite("Relay trust")
struct RelayTrustTests {
    private let folder: TemporaryFolder
    private let trust: OfficialRelayTrust

    init() throws {
        folder = try TemporaryFolder()
        trust = try OfficialRelayTrust(folder: folder.path)
    }

    private static func text(_ hosts: String, _ number: UInt8 = 5) -> String {
        "xftp://\(Base64URL.encode([UInt8](repeating: number, count: 32)))@\(hosts)"
    }

    private static func relay(_ hosts: String, _ number: UInt8 = 5) throws -> RelayAddress {
        try #require(RelayAddress(text(hosts, number)))
    }

    @Test(
        "fingerprint, host and port identify configured relays")
    func configured() throws {
        trust.follow(configured: [Self.text("one.example"), "no relay", Self.text("two.example:5443")])
        #expect(try trust.holds(Self.relay("one.example")) && trust.holds(Self.relay("one.example:443")))
        #expect(try trust.holds(Self.relay("two.example:5443")))
        for other in ["one.example:444", "two.example", "three.example"] {
            #expect(try !trust.holds(Self.relay(other)))
        }
        #expect(try !trust.holds(Self.relay("one.example", 6)), "another relay in its place")
        trust.follow(configured: [Self.text("two.example:5443")])
        #expect(try !trust.holds(Self.relay("one.example")))
        #expect(try trust.approved().isEmpty, "what is configured is approved by nobody here")
    }

    @Test("every host of a relay must be known")
    func hosts() throws {
        trust.follow(configured: [Self.text("one.example,two.example")])
        #expect(
            try trust.holds(Self.relay("one.example")) && trust.holds(Self.relay("two.example,one.example")))
        #expect(try !trust.holds(Self.relay("one.example,evil.example")))
        try trust.approve([Self.relay("evil.example")])
        #expect(try trust.holds(Self.relay("one.example,evil.example")), "half configured, half approved")
    }

    @Test("approvals are stored without passwords")
    func approvals() throws {
        let (first, second) = try (Self.relay("one.example"), Self.relay("two.example:99"))
        try trust.approve([first, second, first])
        try trust.approve([first])
        let next = try OfficialRelayTrust(folder: folder.path)
        #expect(try next.approved() == [first, second])
        #expect(next.holds(first) && next.holds(second))
        #expect(next.approves([first.text]) && next.approves([second.text, first.text]))
        #expect(try next.revoke([second, Self.relay("nobody.example")]) == [second])
        #expect(try trust.approved() == [first], "the other process sees it at once")
        #expect(!trust.holds(second) && !trust.approves([first.text, second.text]))
    }

    @Test("every named relay needs an approval")
    func named() throws {
        try trust.approve([Self.relay("one.example")])
        trust.follow(configured: [Self.text("two.example")])
        #expect(trust.approves([Self.text("one.example")]))
        #expect(!trust.approves([]), "nothing was named")
        #expect(!trust.approves([Self.text("one.example"), "nonsense"]))
        #expect(!trust.approves([Self.text("two.example")]), "the core itself says that it is not configured")
    }

    @Test("the last policy applies")
    func policy() throws {
        #expect(try trust.policy() == nil)
        for policy in RelayApprovalPolicy.allCases + [.ask] {
            try trust.setPolicy(policy)
            #expect(try OfficialRelayTrust(folder: folder.path).policy() == policy)
        }
    }

    @Test("an unreadable database permits nothing")
    func damage() throws {
        try trust.approve([Self.relay("one.example")])
        let database = try Database(
            path: folder.path("approvals.sqlite"), migrations: ApprovalTables.migrations)
        try database.transaction { connection in
            try connection.executeScript(
                "INSERT INTO policy (word) VALUES ('sometimes'); UPDATE approval SET relay = 'x' || relay")
        }
        #expect(throws: StoreError.self) { try trust.policy() }
        #expect(try !trust.holds(Self.relay("one.example")) && trust.approved().isEmpty)
        try database.transaction { try $0.executeScript("DROP TABLE approval") }
        #expect(try !trust.holds(Self.relay("one.example")) && !trust.approves([Self.text("one.example")]))
        #expect(throws: StoreError.self) { try trust.approved() }
    }

    // MARK: - Descriptions

    private static func description(_ hosts: String) throws -> String {
        FileDescription(
            party: .recipient, digest: [UInt8](repeating: 1, count: 64),
            key: [UInt8](repeating: 2, count: 32),
            nonce: [UInt8](repeating: 3, count: 24),
            chunks: [
                .init(
                    number: 1, size: 65_536, digest: [UInt8](repeating: 4, count: 32),
                    replicas: [
                        .init(
                            relay: try relay(hosts), id: [UInt8](repeating: 9, count: 16),
                            key: try SigningKey(seed: [UInt8](repeating: 2, count: 32)).pkcs8)
                    ])
            ]
        ).text
    }

    private func descriptions(
        hasProxy: Bool = false, _ answer: @escaping @Sendable (String) -> String = { _ in "{}" }
    ) -> Descriptions {
        Descriptions(
            CoreConnection(ScriptedTransport { answer($0) }, HeldCommands()), trust, hasProxy: hasProxy)
    }

    @Test(
        "a hidden address needs a local proxy"
    )
    func addresses() {
        let transport = ScriptedTransport { _ in "{}" }
        let connection = CoreConnection(transport, HeldCommands())
        let plain = Descriptions(connection, trust, hasProxy: false)
        let proxied = Descriptions(connection, trust, hasProxy: true)
        let number = connection.number
        // Nothing is known about the core.
        #expect(!plain.mayFetch && proxied.mayFetch)
        for descriptions in [plain, proxied] { descriptions.note(hidesAddress: true, over: number) }
        #expect(!plain.mayFetch && proxied.mayFetch)
        plain.note(hidesAddress: false, over: number)
        #expect(plain.mayFetch)
        // Another connection may reach a new run of the core, which has not reported its setting.
        transport.disconnect()
        #expect(!plain.mayFetch && !plain.isNetworkKnown && proxied.mayFetch)
        // The former run's answer does not apply.
        plain.note(hidesAddress: false, over: number)
        #expect(!plain.mayFetch && !plain.isNetworkKnown)
        plain.note(hidesAddress: false, over: connection.number)
        #expect(plain.mayFetch)
    }

    @Test("a description comes from event or database")
    func sources() async throws {
        func rows(_ rows: String...) -> Descriptions {
            descriptions { _ in
                #"{"type":"sQLResult","rows":[\#(rows.map { "\"\($0)\"" }.joined(separator: ","))]}"#
            }
        }
        let (file, item) = (FileID(7), ItemID(1))
        #expect(try await rows("h", "C3A46162").description(of: file, in: item) == "äab")
        #expect(try await rows("h", "c3A4").description(of: file, in: item) == "ä")
        for bad in [rows("h"), rows(), rows("h", "C3", "C4"), rows("h", "xyz"), rows("h", "C")] {
            #expect(try await bad.description(of: file, in: item) == nil)
        }
        let refusing = descriptions { _ in #"{"type":"chatCmdError","chatError":{"type":"error"}}"# }
        #expect(try await refusing.description(of: file, in: item) == nil)
        let told = rows("h", "C3A4")
        told.note("told", of: file, in: item)
        #expect(try await told.description(of: file, in: item) == "told")
        // A later file has the same number.
        #expect(try await told.description(of: file, in: ItemID(2)) == "ä")
        told.forget(file)
        #expect(try await told.description(of: file, in: item) == "ä")
        #expect(try await told.description(of: FileID(8), in: item) == "ä")
    }

    @Test(
        "own-network relays are left to the core"
    )
    func inward() async throws {
        let descriptions = descriptions()
        #expect(try await descriptions.mayBeFetched(Self.description("relay.example")))
        #expect(try await !descriptions.mayBeFetched(Self.description("192.168.1.1")))
        #expect(await descriptions.mayBeFetched("nonsense"))
        try trust.approve([Self.relay("192.168.1.1")])
        #expect(try await descriptions.mayBeFetched(Self.description("192.168.1.1")))
        #expect(try await !descriptions.mayBeFetched(Self.description("192.168.1.1,10.0.0.1")))
    }
}
