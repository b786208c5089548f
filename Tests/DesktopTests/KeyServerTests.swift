import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// A process that holds a data directory's key, and commands, over real sockets.
@Suite("The key of a data directory", .timeLimit(.minutes(10)))
struct KeyServerTests {
    private let folder: TemporaryFolder
    private let key = SecretBytes((0..<32).map { UInt8($0 * 7) })

    init() throws { folder = try TemporaryFolder() }

    @Test func commandsOfTheUserGetTheKey() throws {
        let server = try KeyServer(dataFolder: folder.path, key: key, holding: KeyHolding(.mount))
        #expect(try #require(KeyClient.key(of: folder.path)).isEqual(to: key))
        #expect(KeyClient.holders(of: folder.path).map(\.kind) == [.mount])
        #expect(KeyClient.holders(of: folder.path).map(\.seconds) == [nil])
        server.stop()
        #expect(KeyClient.key(of: folder.path) == nil && KeyClient.holders(of: folder.path) == [])
    }

    @Test func socketIsPrivate() throws {
        let server = try KeyServer(dataFolder: folder.path, key: key, holding: KeyHolding(.mount))
        defer { server.stop() }
        var status = stat()
        #expect(stat(folder.path("unlocked"), &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(stat(folder.path("unlocked/\(getpid())"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func foreignAccessToFolderIsRefused() throws {
        _ = try folder.makeFolder("unlocked")
        chmod(folder.path("unlocked"), 0o755)
        #expect(throws: DesktopError.self) {
            _ = try KeyServer(dataFolder: folder.path, key: key, holding: KeyHolding(.mount))
        }
        #expect(KeyClient.key(of: folder.path) == nil)
    }

    @Test func lockedAgentProvidesNothing() async throws {
        let forgotten = Lock(0)
        let server = try KeyServer(
            dataFolder: folder.path, key: key,
            holding: KeyHolding(.agent, until: SystemBootClock().reading().nanoseconds + 3_600_000_000_000)
        ) { forgotten.withLock { $0 += 1 } }
        defer { server.stop() }
        let seconds = try #require(KeyClient.holders(of: folder.path).first?.seconds)
        #expect((3_000...3_600).contains(seconds))
        #expect(KeyClient.lock(folder.path) == [])
        #expect(KeyClient.key(of: folder.path) == nil && KeyClient.holders(of: folder.path) == [])
        // The reply leaves before the agent ends.
        try await wait(until: "the agent forgets the key") { forgotten.withLock { $0 } == 1 }
    }

    @Test func lockNamesMountsThatKeepTheKey() throws {
        let server = try KeyServer(dataFolder: folder.path, key: key, holding: KeyHolding(.mount))
        defer { server.stop() }
        #expect(KeyClient.lock(folder.path).map(\.process) == [getpid()])
        #expect(KeyClient.key(of: folder.path) != nil)
    }

    @Test func lockNamesSilentProcesses() throws {
        let socket = try ControlSocket.listen(in: KeyFolder.make(in: folder.path), named: "\(getpid())")
        #expect(KeyClient.lock(folder.path).map(\.process) == [getpid()])
        #expect(KeyClient.holders(of: folder.path) == [] && KeyClient.key(of: folder.path) == nil)
        withExtendedLifetime(socket) {}
    }

    @Test func socketsOfKilledProcessesAreRemoved() throws {
        _ = try folder.makeFolder("unlocked")
        chmod(folder.path("unlocked"), 0o700)
        // An unused process id.
        try folder.write([], to: "unlocked/99999999")
        #expect(KeyClient.key(of: folder.path) == nil)
        let server = try KeyServer(dataFolder: folder.path, key: key, holding: KeyHolding(.mount))
        defer { server.stop() }
        #expect(try folder.names(in: "unlocked") == ["\(getpid())"])
    }

    @Test func invalidRequestsGetNoReply() throws {
        let server = try KeyServer(dataFolder: folder.path, key: key, holding: KeyHolding(.mount))
        defer { server.stop() }
        for bytes in [[0], [0xFF, 1, 2], Array("key\n".utf8)] as [[UInt8]] {
            let place = try ControlSocket.openFolder(folder.path("unlocked"))
            let socket = try #require(try ControlSocket.connect(in: place, named: "\(getpid())"))
            let channel = ControlChannel(socket, timeout: .seconds(30))
            try channel.writeBytes(bytes)
            // A request is one byte, which "key" begins with.
            if bytes.first == 0x6B { continue }
            #expect(throws: DesktopError.self) { _ = try channel.readLine() }
        }
        #expect(KeyClient.key(of: folder.path) != nil)
    }
}
