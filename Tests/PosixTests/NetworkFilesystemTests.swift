import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite struct NetworkFilesystemTests {
    @Test(
        arguments: [
            (0x6969, "NFS"), (0x517B, "SMB"), (0xFF53_4D42, "SMB"), (0xFE53_4D42, "SMB"), (0x0102_1997, "9p"),
            (0x5346_414F, "AFS"), (0x6B41_4653, "AFS"), (0x00C3_6400, "Ceph"),
        ] as [(UInt32, String)])
    func networkFilesystemsHaveNames(type: UInt32, name: String) {
        #expect(NetworkFilesystem.name(ofType: type) == name)
    }

    /// ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS; FUSE may be anything.
    @Test(
        arguments: [
            0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1, 0x6573_5546,
        ] as [UInt32])
    func aDiskOfThisMachineHasNone(type: UInt32) {
        #expect(NetworkFilesystem.name(ofType: type) == nil)
    }

    @Test func theNearestExistingFolderCounts() throws {
        let folder = try TemporaryFolder()
        let here = NetworkFilesystem.name(at: folder.path)
        #expect(NetworkFilesystem.name(at: folder.path("not/yet/there")) == here)
        #expect(NetworkFilesystem.name(at: "/proc/nothing/of/this") == nil)
        #expect(NetworkFilesystem.name(at: "") == nil)
        #expect(NetworkFilesystem.name(at: "relative/nothing") == nil)
    }
}
