import Base
import ChatCore
import Network
import Store
import TestSupport
import Testing
import XFTP

@testable import EmbeddedCore

@Suite("Profile and relay tables")
struct ProfileTableTests {
    private let stage: StoreStage

    init() throws { stage = try StoreStage() }

    private func profiles<Result>(_ body: (ProfileTable) throws -> Result) throws -> Result {
        try stage.change { try body($0.directory.profiles) }
    }

    @Test("profiles have unique names and ids")
    func names() throws {
        #expect(try profiles { try $0.all().map(\.displayName) } == ["alice", "bob"])
        let error = #expect(throws: StoreError.self) {
            try profiles { try $0.insert("alice", at: StoreStage.now) }
        }
        #expect(error?.code == .constraint)
        #expect(throws: StoreError.self) { try profiles { try $0.rename(stage.alice, to: "bob") } }
        try profiles { try $0.rename(stage.alice, to: "Alice B.") }
        #expect(try profiles { try $0.name(of: stage.alice) } == "Alice B.")
        #expect(try profiles { try $0.profile(named: "alice") } == nil)
        #expect(try profiles { try $0.profile(named: "Alice B.")?.id } == stage.alice)
        #expect(try profiles { try $0.name(of: 999) } == nil)
        let carol = try profiles { try $0.insert("carol", at: StoreStage.now) }
        #expect(try stage.count("chat", "profile = \(carol.id) AND kind = 'notes'") == 1)
        try profiles { try $0.remove(carol.id) }
        #expect(try profiles { try $0.insert("carol", at: StoreStage.now).id } > carol.id)
    }

    @Test("network settings round-trip")
    func network() throws {
        #expect(try profiles { try $0.network(of: stage.alice) } == NetworkChoice())
        #expect(try profiles { try $0.network(of: 999) } == NetworkChoice())
        for routing in NetworkChoice.Routing.allCases {
            for fallback in NetworkChoice.Fallback.allCases {
                for receipts in [true, false] {
                    for proxy in [nil, Endpoint("127.0.0.1:9050"), Endpoint("[::1]:1")] {
                        let choice = NetworkChoice(
                            proxy: proxy, routing: routing, fallback: fallback, sendsReceipts: receipts)
                        try profiles { try $0.setNetwork(choice, of: stage.alice) }
                        #expect(try profiles { try $0.network(of: stage.alice) } == choice)
                        #expect(try profiles { try $0.sendsReceipts(stage.alice) } == receipts)
                    }
                }
            }
        }
        #expect(try profiles { try $0.network(of: stage.bob) } == NetworkChoice())
        #expect(try profiles { try $0.sendsReceipts(999) })
    }

    @Test(
        "invalid network settings are damage",
        arguments: [
            "proxy = ''", "proxy = 'nowhere'", "proxy = 'host:0x'", "routing = 'sometimes'", "routing = ''",
            "routing_fallback = 'maybe'",
        ])
    func damagedNetwork(columns: String) throws {
        try stage.execute("UPDATE profile SET \(columns) WHERE name = 'alice'")
        let error = #expect(throws: StoreError.self) { try profiles { try $0.network(of: stage.alice) } }
        #expect(error?.code == .damaged)
        #expect(try profiles { try $0.network(of: stage.bob) } == NetworkChoice())
    }

    // MARK: - Relays

    private static let digits = String(repeating: "A", count: 43)

    private func relay(_ host: String, password: String? = nil) throws -> RelayWithPassword {
        RelayWithPassword(address: "xftp://\(Self.digits)@\(host)", password: password)
    }

    @Test("relays keep order and replace passwords")
    func relays() throws {
        let first = [try relay("a"), try relay("b", password: "one"), try relay("c", password: "two")]
        try stage.change { try $0.relays.add(first, to: stage.alice) }
        try stage.change {
            try $0.relays.add(
                [try relay("c"), try relay("b", password: "other"), try relay("a", password: "new")],
                to: stage.alice)
        }
        let kept = try stage.change { try $0.relays.configured(of: stage.alice) }
        #expect(kept.map(\.address) == first.map(\.address))
        #expect(kept.map(\.password) == ["new", "other", "two"])
        let isRemoved = try stage.change { tables in
            try [
                tables.relays.remove(first[0].address, from: stage.bob),
                tables.relays.remove(first[0].address, from: stage.alice),
                tables.relays.remove(first[0].address, from: stage.alice),
            ]
        }
        #expect(isRemoved == [false, true, false])
        #expect(try stage.change { try $0.relays.configured(of: stage.bob) }.isEmpty)
    }

    private func endpoint(_ host: String = "host", port: UInt16 = 443, _ byte: UInt8 = 0) -> ServerPlace {
        ServerPlace(fingerprint: [UInt8](repeating: byte, count: 32), host: host, port: port)
    }

    @Test("approval is per fingerprint, host, port, profile")
    func approvals() throws {
        try stage.change { tables in
            for _ in 0..<2 { try tables.relays.approve(endpoint(), for: stage.alice) }
        }
        let rules = try stage.change { try $0.relays.rules(of: stage.alice) }
        #expect(rules.approved == [endpoint()] && rules.policy == .ask && rules.configured.isEmpty)
        #expect(try stage.change { try $0.relays.rules(of: stage.bob) }.approved.isEmpty)
        for other in [endpoint("other"), endpoint(port: 444), endpoint("host", port: 443, 1)] {
            #expect(try stage.change { try $0.relays.revoke(other, of: stage.alice) } == false)
        }
        #expect(try stage.change { try $0.relays.revoke(endpoint("HOST"), of: stage.alice) })
        #expect(try stage.change { try $0.relays.rules(of: stage.alice) }.approved.isEmpty)
    }

    @Test("policies round-trip and unknown ones are damage")
    func policies() throws {
        for policy in RelayApprovalPolicy.allCases {
            try stage.change { try $0.relays.setPolicy(policy, of: stage.alice) }
            #expect(try stage.change { try $0.relays.rules(of: stage.alice) }.policy == policy)
        }
        #expect(try stage.change { try $0.relays.rules(of: stage.bob) }.policy == .ask)
        #expect(try stage.change { try $0.relays.rules(of: 999) }.policy == .ask)
        try stage.execute("UPDATE profile SET relay_policy = 'sometimes' WHERE name = 'alice'")
        let error = #expect(throws: StoreError.self) {
            try stage.change { try $0.relays.rules(of: stage.alice) }
        }
        #expect(error?.code == .damaged)
    }

    /// Policy × configured × approved × approval of one file.
    @Test("permitted relays match the table")
    func table() throws {
        let address = try #require(RelayAddress("xftp://\(Self.digits)@host"))
        let endpoints = Set(address.places)
        for policy in RelayApprovalPolicy.allCases {
            for (isConfigured, isApproved) in [(false, false), (true, false), (false, true)] {
                for isNow in [false, true] {
                    let rules = RelayRules(
                        configured: isConfigured ? endpoints : [], approved: isApproved ? endpoints : [],
                        policy: policy)
                    let expected = isConfigured || isApproved || policy == .always || policy == .ask && isNow
                    var isAllowed = true
                    do throws(ChatError) {
                        try rules.check([address], approvedNow: isNow)
                    } catch {
                        isAllowed = false
                        #expect(error.code == .file(.notApproved))
                    }
                    #expect(isAllowed == expected, "\(policy) \(isConfigured) \(isApproved) \(isNow)")
                }
            }
        }
    }
}
