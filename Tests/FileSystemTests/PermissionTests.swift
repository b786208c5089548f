import Base
import ChatCore
import Glibc
import Namespace
import Posix
import TestSupport
import Testing

@testable import FileSystem

@Suite("Permissions given while mounted")
struct PermissionTests {
    /// Records the permissions that refusals offer.
    private final class Offers: Sendable {
        private let found = Lock<[Permission?]>([])

        init(_ fileSystem: FileSystem) {
            fileSystem.tellUser { [found] notice in
                guard case .refused(let refusal) = notice else { return }
                found.withLock { $0.append(refusal.permission) }
            }
        }

        var last: Permission? { found.withLock { $0.last } ?? nil }
    }

    @Test("deletion for oneself, at once")
    func deletion() async throws {
        let fixture = try await FileSystemFixture.make {
            _ = $0.received("a.bin", in: FileSystemFixture.bob, size: 10, status: .rcvComplete)
        }
        let (files, bob, name) = (fixture.fileSystem, try fixture.id("bob"), EntryName("a.bin"))
        let offers = Offers(files)
        #expect(await files.unlink(name, in: bob).code() == EPERM)
        #expect(offers.last == .deletion)
        files.permissions.permit(.deletion)
        #expect(await files.unlink(name, in: bob).code() == 0)
        #expect(fixture.core.state.withLock { $0.deleted.map(\.1) } == [.internal])
    }

    @Test("deletion for everyone stays")
    func everyone() async throws {
        let permissions = MountPermissions(deletion: .everyone)
        permissions.permit(.deletion)
        #expect(permissions.deletion == .everyone)
    }

    @Test("pasted folders, if archives can be made")
    func folders() async throws {
        let stage = try await PastedStage(policy: .refuse)
        let offers = Offers(stage.fileSystem)
        let name = EntryName("trip")
        #expect(await stage.fileSystem.makeFolder(name, in: stage.bob).code() == EPERM)
        #expect(offers.last == .folders)
        stage.fileSystem.permissions.permit(.folders)
        #expect(await stage.fileSystem.makeFolder(name, in: stage.bob).code() == 0)
        #expect(MountPermissions().forFolders == nil)
    }

    @Test("a refused program, but none that the user named")
    func programs() async throws {
        let rule = try #require(ProgramPattern("cat"))
        let table: [(String, Permission?)] = [("clamscan", .program("clamscan")), ("cat", nil)]
        for (program, offered) in table {
            let fixture = try await FileSystemFixture.make(
                callers: CallerPolicy(refused: [rule]), opener: Caller(executable: "/usr/bin/\(program)")
            ) {
                _ = $0.received(
                    "a.bin", in: FileSystemFixture.bob, size: 1000,
                    status: .rcvInvitation(described: true))
            }
            let offers = Offers(fixture.fileSystem)
            let file = try fixture.id("bob/a.bin")
            #expect(await fixture.fileSystem.open(file, flags: O_RDONLY, by: 1).code() == EACCES)
            #expect(offers.last == offered)
            guard let offered else { continue }
            fixture.fileSystem.permissions.permit(offered)
            #expect(await fixture.fileSystem.open(file, flags: O_RDONLY, by: 1).code() == 0)
        }
    }
}
