import Base
import CFuse3
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem
@testable import Fuse

/// Attributes sent to the kernel and changes received from it, field by field.
@Suite struct TranslatedValueTests {
    private static let owner = Owner(user: 1000, group: 100)

    private static func attributes(
        isFolder: Bool = false, permissions: UInt16 = 0o400, size: UInt64 = 7, blocks: UInt64 = 1,
        seconds: Int64 = 5, links: UInt32 = 1, keeping: Attributes.Keeping = .untilNotice
    ) -> Attributes {
        Attributes(
            id: NodeID(1030), isFolder: isFolder, permissions: permissions, size: size, blocks: blocks,
            modified: Timestamp(seconds: seconds), links: links, keeping: keeping)
    }

    @Test func filesAndFoldersHaveTheirMode() {
        let file = Self.attributes().status(of: Self.owner)
        #expect(file.st_mode == S_IFREG | 0o400 && file.st_ino == 1030 && file.st_nlink == 1)
        #expect(file.st_uid == 1000 && file.st_gid == 100 && file.st_blksize == 4096)
        let folder = Self.attributes(isFolder: true, permissions: 0o700, links: 9).status(of: Self.owner)
        #expect(folder.st_mode == S_IFDIR | 0o700 && folder.st_nlink == 9)
    }

    @Test func largeSizesAreClamped() {
        let huge = Self.attributes(size: .max, blocks: .max).status(of: Self.owner)
        #expect(huge.st_size == Int(Int64.max) && huge.st_blocks == Int(Int64.max))
        let most = Self.attributes(size: UInt64(Int64.max), blocks: 0).status(of: Self.owner)
        #expect(most.st_size == Int(Int64.max) && most.st_blocks == 0)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 1_700_000_000, .max])
    func allTimesAreTheMessagesWholeSeconds(seconds: Int64) {
        let status = Self.attributes(seconds: seconds).status(of: Self.owner)
        for time in [status.st_mtim, status.st_atim, status.st_ctim] {
            // Out-of-range times are clamped.
            #expect(Int64(time.tv_sec) == Timestamp(seconds: seconds).seconds && time.tv_nsec == 0)
        }
    }

    @Test func timeoutsFollowTheKindOfAttributes() {
        for (keeping, seconds) in [
            (Attributes.Keeping.untilNotice, 3600.0), (.moment, 1), (.never, 0),
        ] {
            let entry = Self.attributes(keeping: keeping).entry(of: Self.owner)
            #expect(entry.attr_timeout == seconds && entry.entry_timeout == 3600)
            #expect(entry.ino == 1030 && entry.generation == 1 && entry.attr.st_ino == 1030)
        }
        let gone = Attributes.ofVanished(NodeID(7), isFolder: true).entry(of: Self.owner)
        #expect(gone.attr_timeout == 0 && gone.attr.st_mode == S_IFDIR | 0o700 && gone.attr.st_nlink == 2)
    }

    private static func change(_ fields: Int32, _ body: (inout stat) -> Void = { _ in }) -> AttributeChange {
        var status = stat()
        (status.st_uid, status.st_gid) = (owner.user, owner.group)
        (status.st_mode, status.st_size) = (S_IFREG | 0o4755, 99)
        status.st_mtim.tv_sec = 1234
        body(&status)
        return AttributeChange(status, fields: fields, owner: owner)
    }

    @Test func onlySelectedFieldsChange() {
        let none = Self.change(0)
        #expect(none.permissions == nil && none.size == nil && none.modified == nil && !none.changesOwner)
        #expect(Self.change(FUSE_SET_ATTR_MODE).permissions == 0o4755)
        #expect(Self.change(FUSE_SET_ATTR_SIZE).size == 99)
        let time = Self.change(FUSE_SET_ATTR_MTIME).modified
        guard case .at(Timestamp(seconds: 1234))? = time else {
            Issue.record("\(String(describing: time))")
            return
        }
        // Access times are ignored.
        #expect(Self.change(FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW).modified == nil)
    }

    @Test func nowOverridesAGivenTime() {
        guard case .now? = Self.change(FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW).modified else {
            Issue.record("it is another time")
            return
        }
    }

    @Test(arguments: [
        (FUSE_SET_ATTR_UID, uid_t(1001), gid_t(100), true), (FUSE_SET_ATTR_UID, 1000, 101, false),
        (FUSE_SET_ATTR_GID, 1001, 100, false), (FUSE_SET_ATTR_GID, 1000, 101, true),
        (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID, 1000, 100, false),
        (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID, 1000, 101, true), (0, 1001, 101, false),
    ])
    func ownerChangesOnlyIfSelectedAndDifferent(
        fields: Int32, user: uid_t, group: gid_t, changes: Bool
    ) {
        let change = Self.change(fields) { ($0.st_uid, $0.st_gid) = (user, group) }
        #expect(change.changesOwner == changes)
    }

    @Test func negativeSizeIsZero() {
        #expect(Self.change(FUSE_SET_ATTR_SIZE) { $0.st_size = -1 }.size == 0)
        #expect(Self.change(FUSE_SET_ATTR_SIZE) { $0.st_size = Int.max }.size == UInt64(Int64.max))
    }

    @Test func nameEndsAtItsNUL() {
        #expect(EntryName(nil as UnsafePointer<CChar>?).bytes == [])
        let bytes: [UInt8] = [0xFF, 0x2E, 0xC3, 0xA4, 0, 0x61]
        let name = bytes.withUnsafeBytes { EntryName($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
        #expect(name.bytes == [0xFF, 0x2E, 0xC3, 0xA4])
    }

    @Test func missingOpenInfoHasNoFlagsOrHandle() {
        #expect(Opening(nil).flags == 0)
        #expect(
            FileHandle.of(nil) == nil && FileHandle.taken(from: nil as UnsafePointer<fuse_file_info>?) == nil)
        var info = fuse_file_info()
        info.flags = O_RDWR
        #expect(Opening(&info).flags == O_RDWR && FileHandle.of(&info) == nil)
    }

    @Test func handleSurvivesUntilRelease() throws {
        weak var gone: FileHandle?
        do {
            let files = try NotedFiles()
            let handle = FileHandle(node: files.handle.node, source: ProducedSource([1]))
            gone = handle
            var info = Opening(nil).info(of: handle)
            #expect(FileHandle.of(&info) === handle && FileHandle.of(&info) === handle)
            // Generated at each opening: pages are not kept, and closing sends no FLUSH.
            #expect(info.direct_io == 1 && info.noflush == 1)
            #expect(FileHandle.taken(from: info) === handle)
        }
        #expect(gone == nil)
    }

    @Test(arguments: [
        (EIO, "EIO"), (ENOSPC, "ENOSPC"), (EBADMSG, "EBADMSG"), (ETIMEDOUT, "ETIMEDOUT"),
        (EHOSTUNREACH, "EHOSTUNREACH"), (EMFILE, "EMFILE"), (ESTALE, "ESTALE"), (EDOM, "errno 33"),
        (0, "errno 0"), (-1, "errno -1"),
    ])
    func failuresAreCountedByErrnoName(code: Int32, name: String) {
        #expect(FailureLog.name(of: code) == name)
        let log = FailureLog { _ in }
        log.note(RequestSubject("read", 1), FileSystemError(code, isFailure: true))
        #expect(log.counts == ["read": [name: 1]])
    }

    @Test func buffersAreReusedExclusively() {
        let buffers = ReplyBuffers()
        let small = buffers.take(1)
        #expect(small.bytes.count == 1 << 20)
        let other = buffers.take(1 << 20)
        #expect(small.bytes.baseAddress != other.bytes.baseAddress)
        let address = small.bytes.baseAddress
        buffers.give(small)
        let again = buffers.take(100)
        #expect(again.bytes.baseAddress == address)
        // A larger buffer has the requested size and is not kept.
        let large = buffers.take(3 << 20)
        #expect(large.bytes.count == 3 << 20)
        for buffer in [large, again, other] { buffers.give(buffer) }
        let lent = (0..<40).map { _ in buffers.take(1) }
        #expect(Set(lent.map { UInt(bitPattern: $0.bytes.baseAddress) }).count == 40)
        for buffer in lent { buffers.give(buffer) }
    }
}
