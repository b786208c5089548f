import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// Failures of programs are recorded for the files that they write, and held files can be discarded.
@Suite("Possibly unfinished files")
struct HeldFileTests {
    private typealias Fixture = FileSystemFixture

    private func draft(_ name: String, _ fixture: FileSystemFixture) async throws -> NodeID {
        let (attributes, handle) = try await fixture.fileSystem.create(
            EntryName(name), in: fixture.id("bob"), flags: O_WRONLY
        ).value()
        _ = try [UInt8]("hello".utf8).withUnsafeBytes {
            try fixture.fileSystem.write(handle, $0, at: 0, by: getpid()).get()
        }
        fixture.fileSystem.flush(handle, by: getpid())
        fixture.fileSystem.release(handle)
        return attributes.id
    }

    @Test("refused operations are noted with their thread")
    func notes() async throws {
        let drafts = MemoryDrafts()
        let fixture = try await Fixture.make(drafts: drafts) {
            _ = $0.received("a.bin", in: Fixture.bob, size: 10)
        }
        let (fs, bob) = (fixture.fileSystem, try fixture.id("bob"))
        let draft = try await draft("new", fixture)
        let received = EntryName("a.bin")
        #expect(
            await fs.rename(EntryName("new"), in: bob, to: received, in: bob, flags: 0, by: 7).code() == EPERM
        )
        #expect(
            await fs.rename(received, in: bob, to: EntryName("b"), in: bob, flags: 0, by: 7).code() == EPERM)
        // Programs recover from these errors.
        #expect(
            await fs.rename(EntryName("new"), in: bob, to: received, in: bob, flags: 1, by: 7).code()
                == EEXIST)
        #expect(
            await fs.rename(EntryName("none"), in: bob, to: received, in: bob, flags: 0, by: 7).code()
                == ENOENT)
        // A refused move elsewhere is no evidence.
        #expect(
            await fs.rename(EntryName("new"), in: bob, to: EntryName("new"), in: .root, flags: 0, by: 7)
                .code()
                == EPERM)
        let owner = AttributeChange(permissions: nil, changesOwner: true, size: nil, modified: nil)
        #expect(await fs.change(draft, owner, by: 7).code() == EPERM)
        let handle = try await fs.open(try fixture.id("bob/a.bin"), flags: O_RDONLY, by: 7).value()
        fs.readFailed(handle, FileSystemError(EHOSTUNREACH), by: 7)
        fs.readFailed(handle, FileSystemError(EINTR), by: 7)
        fs.release(handle)
        let id = try #require(drafts.all.first?.id)
        let failed: [FailedOperation] = [
            .rename(draft: id), .rename(draft: nil), .owner(draft: id), .read,
        ]
        #expect(drafts.failedOperations == failed)
        await fixture.end()
    }

    @Test("only held files can be discarded")
    func discarding() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(3600))
        let fs = fixture.fileSystem
        let id = try await draft("report.txt", fixture)
        let bob = try fixture.id("bob")
        #expect(await fs.discard(id).code() == EPERM)
        #expect(await fs.discard(bob).code() == EPERM)
        let local = try await draft("report.tmp", fixture)
        #expect(await fs.discard(local).code() == 0)
        #expect(
            fixture.find("bob/report.tmp").failureCode == ENOENT
                && fixture.find("bob/report.txt").failureCode == nil)
        await fixture.end()
    }
}

extension Result where Failure == FileSystemError {
    fileprivate var failureCode: Int32? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
