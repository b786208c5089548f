import Base
import ChatCore
import Posix
import TestSupport
import Testing
import XFTP

@testable import EmbeddedCore

@Suite struct RelayApprovalTests {
    /// Bob's view of a file on a relay that he has not configured.
    private func offer(on relay: String) async throws -> (World, EmbeddedCore, EmbeddedCore, FileID) {
        let world = try World(relay: MemoryRelay(relayInDescriptions: relay))
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob", relays: [])
        let heard = Listener(bob)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "rcvFileDescrReady")
        return (world, alice, bob, try #require(try await bob.newest(in: "alice").file).id)
    }

    @Test func unknownRelayNeedsApproval() async throws {
        let (world, alice, bob, file) = try await offer(on: MemoryRelay.address)
        #expect(await bob.relays(of: file) == [MemoryRelay.address])
        #expect(await bob.relays(of: FileID(999_999)).isEmpty)
        for command in [
            { try await bob.receiveFile(file, approvedRelays: false) },
            { try await bob.setFileToReceive(file, approvedRelays: false) },
            { _ = try await bob.claimFile(file, approvedRelays: false) },
        ] as [@Sendable () async throws -> Void] {
            let error = await refusal(command)
            #expect(error?.code == .file(.notApproved))
            #expect(error?.sentence.contains("chatfs approve " + MemoryRelay.address) == true)
        }
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        #expect(world.relay.state.withLock { $0.downloads } == 0)

        let relay = try #require(RelayAddress(MemoryRelay.address))
        try world.directory.approveRelays([relay], for: bob.profile)
        #expect(try world.directory.approvedRelays(of: bob.profile) == [relay])
        #expect(try await bob.claimFile(file, approvedRelays: false) != nil)
        await bob.abandonClaim(file, problem: nil)
        try await bob.receiveFile(file, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    /// Otherwise the redirect's relays would be contacted without approval.
    @Test func redirectDescriptionIsNotFollowed() async throws {
        let (world, alice, bob, file) = try await offer(on: MemoryRelay.address)
        try world.directory.setRelayPolicy(.always, of: bob.profile)
        let text = try await bob.claimFile(file, approvedRelays: false)?.description
        await bob.abandonClaim(file, problem: nil)
        var description = try FileDescription(parsing: try #require(text))
        description.redirect = .init(size: 65_536, digest: description.digest)
        let changed = description.text
        try world.database().transaction { connection in
            _ = try connection.execute(
                "UPDATE file SET description = ? WHERE id = ?", changed, file.rawValue)
        }
        for command in [
            { try await bob.receiveFile(file, approvedRelays: true) },
            { _ = try await bob.claimFile(file, approvedRelays: true) },
        ] as [@Sendable () async throws -> Void] {
            #expect(await refusal(command)?.code == .file(.damaged))
        }
        #expect(world.relay.state.withLock { $0.downloads } == 0)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func singleApprovalSufficesUnlessPolicyNever() async throws {
        let (world, alice, bob, file) = try await offer(on: MemoryRelay.address)
        try world.directory.setRelayPolicy(.never, of: bob.profile)
        #expect(
            await refusal { try await bob.receiveFile(file, approvedRelays: true) }?.code
                == .file(.notApproved))
        try world.directory.setRelayPolicy(.ask, of: bob.profile)
        try await bob.receiveFile(file, approvedRelays: true)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func policyAlwaysNeedsNoApproval() async throws {
        let (world, alice, bob, file) = try await offer(on: MemoryRelay.address)
        try world.directory.setRelayPolicy(.always, of: bob.profile)
        #expect(try world.directory.relayPolicy(of: bob.profile) == .always)
        try await bob.receiveFile(file, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test(
        arguments: [
            "127.0.0.1", "10.1.2.3", "192.168.7.7", "172.20.0.1", "169.254.1.1", "[::1]", "[fe80::1]",
            "[fd00::1]", "localhost", "a.localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1",
            "[::ffff:10.0.0.1]", "printer.local",
        ])
    func ownNetworkIsClosedUnderEveryPolicy(host: String) async throws {
        let fingerprint = Base64URL.encode([UInt8](repeating: 6, count: 32))
        let (world, alice, bob, file) = try await offer(on: "xftp://\(fingerprint)@\(host):5443")
        try world.directory.setRelayPolicy(.always, of: bob.profile)
        let error = await refusal { try await bob.receiveFile(file, approvedRelays: true) }
        #expect(error?.code == .file(.notApproved))
        #expect(error?.sentence.contains("own network") == true)
        // Configured relays are permitted.
        let relay = try #require(RelayAddress("xftp://\(fingerprint)@\(host):5443"))
        try world.directory.addRelays([relay], to: bob.profile)
        try await bob.receiveFile(file, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        #expect(relay.places.allSatisfy(bob.trust.holds))
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func approvalIsPerPortAndFingerprint() throws {
        let world = try World()
        let relay = try #require(RelayAddress(MemoryRelay.address))
        try world.directory.approveRelays([relay], for: try world.directory.profile(named: "bob"))
        let rules = try world.directory.store.read { try $0.relays.rules(of: 2) }
        func isRefused(_ fingerprint: UInt8, _ hosts: [String], _ port: UInt16) -> Bool {
            let other = RelayAddress(
                fingerprint: [UInt8](repeating: fingerprint, count: 32), hosts: hosts, port: port)
            do {
                try rules.check([other], approvedNow: false)
                return false
            } catch {
                return true
            }
        }
        #expect(!isRefused(5, ["relay.example.org"], 5443))
        #expect(!isRefused(5, ["RELAY.example.org"], 5443))
        #expect(isRefused(5, ["relay.example.org"], 443))
        #expect(isRefused(6, ["relay.example.org"], 5443))
        #expect(isRefused(5, ["relay.example.org", "other.example.org"], 5443))
    }

    @Test func errorNamesAtMostTwelveRelays() throws {
        let rules = RelayRules(configured: [], approved: [], policy: .ask)
        let relays = (0..<200).map {
            RelayAddress(
                fingerprint: [UInt8](repeating: 9, count: 32), hosts: ["r\($0).example.org"], port: nil)
        }
        do {
            try rules.check(relays, approvedNow: false)
            Issue.record("relays that nobody approved were let through")
        } catch {
            #expect(error.sentence.contains("@r11.example.org (and 188 more)"))
            #expect(!error.sentence.contains("@r12.example.org"))
        }
    }

    @Test(arguments: [true, false])
    func imagesArriveAfterRelayApproval(isOpenMeanwhile: Bool) async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        var bob = try await world.open("bob", relays: [])
        let heard = Listener(bob)
        let message = try alice.compose(pattern(300_000), name: "a.jpg", kind: .image(preview: ""))
        _ = try await alice.send(message, to: alice.chat(named: "bob"))
        try await heard.waits(for: "chatItemUpdated")
        let item = try await bob.newest(in: "alice")
        guard case .rcvAborted(let problem) = item.file?.status else {
            Issue.record("it says nothing: \(String(describing: item.file?.status))")
            return
        }
        #expect(problem.kind == .notApproved && problem.sentence.contains(MemoryRelay.address))
        #expect(world.relay.state.withLock { $0.downloads } == 0)
        // A request without news has no effect.
        await bob.relaysWereApproved()
        #expect(heard.names.filter { $0 == "chatItemUpdated" }.count == 1)
        if !isOpenMeanwhile { await bob.shutDown() }
        let relay = try #require(RelayAddress(MemoryRelay.address))
        try world.directory.approveRelays([relay], for: world.directory.profile(named: "bob"))
        if isOpenMeanwhile {
            await bob.relaysWereApproved()
        } else {
            bob = try await world.open("bob", relays: [])
        }
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func approvalsAndRelaysCanBeRemoved() throws {
        let world = try World()
        let bob = try world.directory.profile(named: "bob")
        let alice = try world.directory.profile(named: "alice")
        let relay = try #require(RelayAddress(MemoryRelay.address))
        for profile in [alice, bob] {
            try world.directory.approveRelays([relay], for: profile)
            try world.directory.addRelays([relay], to: profile)
        }
        #expect(try world.directory.revokeRelays([relay], of: bob) == [relay])
        #expect(try world.directory.revokeRelays([relay], of: bob) == [])
        #expect(try world.directory.removeRelays([relay], from: bob) == [relay])
        #expect(try world.directory.removeRelays([relay], from: bob) == [])
        #expect(try world.directory.approvedRelays(of: bob) == [])
        #expect(try world.directory.configuredRelays(of: bob) == [])
        #expect(try world.directory.approvedRelays(of: alice) == [relay])
        #expect(try world.directory.configuredRelays(of: alice) == [relay])
    }

    /// Debug builds also assert that descriptions are parsed outside transactions.
    @Test func hugeDescriptionFailsOnlyItsFile() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { state in
            state.descriptionEnding = "# " + String(repeating: "long", count: 1_150_000) + "\n"
        }
        let alice = try await world.open("alice")
        var bob = try await world.open("bob")
        let heard = Listener(bob)
        for kind in [MessageContent.Kind.file, .image(preview: "")] {
            let message = try alice.compose(pattern(300_000), kind: kind)
            _ = try await alice.send(message, to: alice.chat(named: "bob"))
        }
        try await heard.waits(for: "rcvFileDescrReady", times: 2)
        let image = try await bob.item(in: "alice") {
            if case .rcvError(let problem) = $0 { problem.kind == .damaged } else { false }
        }
        let file = try #require(image.file)
        for command in [
            { [bob] in try await bob.receiveFile(file.id, approvedRelays: true) },
            { [bob] in _ = try await bob.claimFile(file.id, approvedRelays: true) },
        ] as [@Sendable () async throws -> Void] {
            let error = await refusal(command)
            #expect(error?.code == .file(.damaged))
            #expect(error?.sentence.contains("too long") == true)
        }
        await bob.shutDown()
        bob = try await world.open("bob")
        world.relay.state.withLock { $0.descriptionEnding = "" }
        let message = try alice.compose(pattern(300_000), kind: .image(preview: ""))
        _ = try await alice.send(message, to: alice.chat(named: "bob"))
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func earlyAcceptanceIsRevokedForUnknownRelay() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { $0.allowance = 0 }
        let alice = try await world.open("alice")
        let bob = try await world.open("bob", relays: [])
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        let item = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: false) }
        try await bob.receiveFile(try #require(item.file).id, approvedRelays: false)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvAccepted)
        world.relay.state.withLock { $0.allowance = .max }
        _ = try await bob.item(in: "alice") { status in
            guard case .rcvAborted(let problem) = status else { return false }
            return problem.kind == .notApproved && problem.sentence.contains("chatfs approve xftp://")
        }
        try await bob.receiveFile(try #require(item.file).id, approvedRelays: true)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func relayPasswordIsStoredButNeverShown() throws {
        let world = try World()
        let bob = try world.directory.profile(named: "bob")
        let open = try #require(RelayAddress(MemoryRelay.address))
        let locked = RelayAddress(
            fingerprint: open.fingerprint, hosts: open.hosts, port: open.port, password: "one")
        try world.directory.addRelays([locked, locked], to: bob)
        try world.directory.addRelays([open], to: bob)
        #expect(
            try world.directory.store.read { try $0.relays.configured(of: bob.id) }
                == [RelayWithPassword(address: open.text, password: "one")])
        let changed = RelayAddress(
            fingerprint: open.fingerprint, hosts: open.hosts, port: open.port, password: "two")
        try world.directory.addRelays([changed], to: bob)
        let kept = try world.directory.store.read { try $0.relays.configured(of: bob.id) }
        #expect(kept.map(\.password) == ["two"])
        #expect(try world.directory.configuredRelays(of: bob).map(\.text) == [open.text])
        #expect(try world.directory.configuredRelays(of: bob).first?.password == nil)
    }
}
