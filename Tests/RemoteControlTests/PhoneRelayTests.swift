import ChatCore
import Cryptography
import JSON
import Posix
import RemoteControl
import ScriptedCore
import TestSupport
import Testing
import XFTP

@testable import OfficialCore

@Suite("A phone's files from their relays")
struct PhoneRelayTests {
    private static let relay = "xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@relay.example"
    private static let offered = ScriptedMessage(id: 1, contact: 1, name: "film.mp4", size: 4)
    private static let file = FileID(1001)

    /// A description of one chunk.
    private static func description(on relay: String = Self.relay) throws -> String {
        let replica = FileDescription.Replica(
            relay: try #require(RelayAddress(relay)), id: [1, 2, 3], key: SigningKey.generate().pkcs8)
        let chunk = FileDescription.Chunk(
            number: 1, size: 65_536, digest: [UInt8](repeating: 2, count: 32), replicas: [replica])
        return FileDescription(
            party: .recipient, digest: [UInt8](repeating: 3, count: 64),
            key: [UInt8](repeating: 4, count: 32),
            nonce: [UInt8](repeating: 5, count: 24), chunks: [chunk]
        ).text
    }

    /// The offer and its description arrive during a session.
    private func offer(_ description: String, _ phone: ChatPhone, to core: OfficialCore) async throws {
        phone.core.tellNew(Self.offered)
        let text = JSONText.string(description)
        let told = #","rcvFileDescr":{"fileDescrText":\#(text),"fileDescrComplete":true}"#
        phone.core.tell("rcvFileDescrReady", Self.offered, more: told)
        try await wait(until: "the file is described") {
            try await status(core) == .rcvInvitation(described: true)
        }
    }

    private func status(_ core: OfficialCore) async throws -> FileStatus? {
        try? await core.item(ItemID(1), in: .direct(1)).file?.status
    }

    @Test func describedFileNeedsNoStorageOfThePhone() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.relays = [Self.relay] }
        let core = try await desk.connected(phone)
        let description = try Self.description()
        try await offer(description, phone, to: core)
        let claim = try await core.claimFile(Self.file, approvedRelays: false)
        #expect(claim?.description == description && claim?.isReceivedByCore == false)
        let plain = try desk.folder.write([9, 8, 7, 6], to: "plain")
        let staged = core.stagingFolder + "/received"
        let arguments = try CryptoFile.encrypt(from: plain, to: staged)
        _ = try await core.completeClaim(
            Self.file, staged: FileSourceLocation(path: staged, arguments: arguments))
        #expect(try await status(core) == .rcvComplete)
        #expect(try PhoneDesk.content(try await core.location(of: Self.file)) == [9, 8, 7, 6])
        // The phone tells the same offer again, in its event and in the next session.
        phone.core.tell("chatItemUpdated", Self.offered)
        phone.leave()
        try phone.connect(to: try await desk.link())
        try await wait(until: "the phone is back") { core.isReachable }
        phone.core.tellNew(ScriptedMessage(id: 2, contact: 1, name: "later", size: 1))
        try await wait(until: "the later message is there") { try await core.itemCount() == 2 }
        #expect(try await status(core) == .rcvComplete)
        #expect(phone.core.count("/freceive") == 0 && phone.count(of: "getFile") == 0)
        // Without the copy the phone is asked again.
        try await core.dropCopy(of: Self.file)
        #expect(try await core.location(of: Self.file) == nil)
        #expect(try await status(core) == .rcvInvitation(described: true))
        await core.shutDown()
    }

    @Test func phoneReceivesFilesOfUnknownRelays() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let core = try await desk.connected(phone)
        try await offer(try Self.description(), phone, to: core)
        #expect(try await core.claimFile(Self.file, approvedRelays: false) == nil)
        try core.trust.approve([try #require(RelayAddress(Self.relay))])
        #expect(try await core.claimFile(Self.file, approvedRelays: false) != nil)
        await core.shutDown()
    }

    @Test func hiddenAddressStaysHidden() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            state.relays = [Self.relay]
            state.hidesAddress = true
        }
        let core = try await desk.connected(phone)
        try await offer(try Self.description(), phone, to: core)
        #expect(try await core.claimFile(Self.file, approvedRelays: false) == nil)
        await core.shutDown()
    }
}
