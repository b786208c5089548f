import Base
import ChatCore
import Cryptography
import Glibc
import Network
import Posix
import RemoteControl
import TestSupport
import Testing

@testable import OfficialCore

/// This computer with a folder for one phone; each `open` is the process of a mount.
final class PhoneDesk: Sendable {
    let folder: TemporaryFolder
    private let key = SecretBytes(randomCount: 32)
    private let told = Lock<(link: String?, code: SessionCode?, left: Int)>((nil, nil, 0))

    init() throws { folder = try TemporaryFolder() }

    private let name = Lock("official")

    var core: String { folder.path(name.withLock { $0 }) }

    /// Files made for events that wait.
    let spills = Lock(0)

    /// The address of this computer: any of 127.0.0.0/8.
    let address = Lock("127.0.0.1")

    /// As another name of the phone does.
    func move() throws {
        let before = core
        name.withLock { $0 = "moved" }
        try check("move a folder") { rename(before, core) }
    }

    private func store() throws -> PairingStore {
        _ = try PrivateFolder(core, purpose: OfficialCoreSettings.purpose)
        return try PairingStore(folder: core, key: key, name: "phone")
    }

    func description() throws -> PairingStore.Description { try store().description() }

    /// The phone as the last session left it.
    func knownPhone() throws -> Pairing.Phone? { try store().pairing().phone }

    /// As after the restoration of an earlier backup.
    func restore(_ phone: Pairing.Phone) throws { try store().remember(phone) }

    /// Opens the core, which waits for a phone that was never connected.
    func open(
        receiveLimit: UInt64 = 1 << 20, away: Duration = .milliseconds(100),
        limits: ReversedServer.Limits = ReversedServer.Limits(), connectTimeout: Duration? = nil
    ) throws -> Task<OfficialCore, any Error> {
        let store = try store()
        let files = core + "/files"
        mkdir(files, 0o700)
        var settings = OfficialCoreSettings(
            ownership: .attached, filesFolder: files, temporaryFolder: files, folder: core)
        settings.key = key
        settings.marksRead = false
        if let connectTimeout { settings.connectTimeout = connectTimeout }
        settings.searchesForLostSend = [.zero, .milliseconds(20)]
        settings.lostConnectionTimeout = .milliseconds(100)
        var phone = OfficialCoreSettings.Phone(profile: try store.description().profile)
        phone.receiveLimit = receiveLimit
        phone.awayTimeout = away
        phone.note = { try store.note($0) }
        settings.phone = phone
        let transport = self.transport(store, limits)
        let chosen = settings
        return Task { try await OfficialCore.open(transport, chosen) }
    }

    /// A transport without a core.
    func transport() throws -> PhoneTransport {
        transport(try store(), ReversedServer.Limits())
    }

    private func transport(_ store: PairingStore, _ limits: ReversedServer.Limits) -> PhoneTransport {
        let memory: @Sendable () throws(SystemError) -> OpenFile = {
            [spills] () throws(SystemError) -> OpenFile in
            spills.withLock { $0 += 1 }
            return try OpenFile.inMemory()
        }
        var waiting = PhoneTransportSettings(
            place: { [address] in
                PhonePlace(endpoint: Endpoint(host: address.withLock { $0 }, port: 0))
            },
            versions: AppVersionRange(AppVersion("6.3")!, AppVersion("7.0")!)!,
            computer: DeviceName("Computer"), makeFile: memory)
        (waiting.limits, waiting.silenceInterval) = (limits, .milliseconds(50))
        waiting.lookInterval = .milliseconds(100)
        told.withLock { $0.link = nil }
        waiting.observe = { [told] event in
            told.withLock { told in
                switch event {
                case .waiting(let link, _, _): told.link = link
                case .code(let code): told.code = code
                case .left: told.left += 1
                default: break
                }
            }
        }
        return PhoneTransport.start(waiting, pairing: store)
    }

    /// Opens the core and waits until the phone has told its history.
    func connected(
        _ phone: ChatPhone, limits: ReversedServer.Limits = ReversedServer.Limits()
    ) async throws -> OfficialCore {
        let opening = try open(limits: limits)
        try phone.connect(to: try await link())
        let core = try await opening.value
        try await wait(until: "the history is read") { try await core.hasReadHistory() }
        return core
    }

    /// Where the phone is waited for now; each is used once.
    func link() async throws -> String {
        try await wait(for: "a link") {
            told.withLock { told in
                defer { told.link = nil }
                return told.link
            }
        }
    }

    var code: SessionCode? { told.withLock { $0.code } }

    /// Reported ends of connections.
    var departures: Int { told.withLock { $0.left } }

    func compose(_ name: String, _ content: [UInt8], id: String, for core: OfficialCore) throws
        -> ComposedMessage
    {
        let plain = try folder.write(content, to: "plain-\(id)")
        let staged = core.stagingFolder + "/draft-\(id)"
        let arguments = try CryptoFile.encrypt(from: plain, to: staged)
        return ComposedMessage(
            id: id, fileName: name, size: UInt64(content.count),
            source: FileSourceLocation(path: staged, arguments: arguments),
            content: MessageContent(kind: .file, text: ""))
    }

    /// The plaintext of a copy.
    static func content(_ location: FileSourceLocation?) throws -> [UInt8] {
        let location = try #require(location)
        let reader = try CryptoFileReader(
            file: OpenFile(location.path, flags: O_RDONLY), arguments: try #require(location.arguments))
        var bytes: [UInt8] = []
        try reader.decrypt { (piece) throws(CryptographyError) in bytes += Array(piece) }
        return bytes
    }
}
