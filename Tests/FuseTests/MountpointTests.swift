import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Fuse

/// Checks of mountpoints before a mount.
@Suite struct MountpointTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func refusal(_ path: String) async -> FuseErrorCode? {
        do throws(FuseError) {
            _ = try await Mountpoint.prepare(path)
            return nil
        } catch {
            return error.code
        }
    }

    private func exists(_ name: String) -> Bool { access(folder.path(name), F_OK) == 0 }

    @Test func missingFolderIsCreatedPrivateAndRemoved() async throws {
        let mountpoint = try await Mountpoint.prepare(folder.path("mnt"))
        #expect(mountpoint.path == folder.path("mnt"))
        var status = stat()
        #expect(stat(folder.path("mnt"), &status) == 0 && status.st_mode & 0o777 == 0o700)
        mountpoint.abandon()
        #expect(!exists("mnt"))
        // A folder that is no longer empty stays.
        let other = try await Mountpoint.prepare(folder.path("mnt"))
        try folder.write([1], to: "mnt/file")
        other.abandon()
        #expect(try folder.read("mnt/file") == [1])
    }

    @Test func existingFolderStays() async throws {
        _ = try folder.makeFolder("mnt")
        let mountpoint = try await Mountpoint.prepare(folder.path("mnt"))
        mountpoint.abandon()
        #expect(exists("mnt"))
        #expect(try await Mountpoint.prepare(folder.path("mnt")) == mountpoint)
    }

    @Test func filesAndNonemptyFoldersAreRefused() async throws {
        _ = try folder.makeFolder("full")
        try folder.write([1], to: "full/.hidden")
        try folder.write([2], to: "file")
        #expect(await refusal(folder.path("full")) == .mountpoint)
        #expect(await refusal(folder.path("file")) == .mountpoint)
        #expect(await refusal(folder.path("file/mnt")) == .mountpoint)
        #expect(symlink(folder.path("nowhere"), folder.path("dangling")) == 0)
        #expect(await refusal(folder.path("dangling")) == .mountpoint)
        #expect(try folder.names() == ["dangling", "file", "full"])
    }

    @Test func mountedFolderIsRefused() async throws {
        #expect(await refusal("/proc") == .alreadyMounted)
        let root = await refusal("/")
        #expect(root == .alreadyMounted || root == .mountpoint, "behind chroot(2) it is no mount")
    }

    @Test func pathsAreAbsoluteWithResolvedParents() throws {
        let real = try folder.makeFolder("real")
        _ = try folder.makeFolder("real/sub")
        #expect(symlink(real, folder.path("link")) == 0)
        let cases = [
            ("real", "real"), ("real/", "real"), ("real//", "real"), ("real/.", "real"),
            ("./real/./sub", "real/sub"), ("link/sub", "real/sub"), ("link/none", "real/none"),
            ("link", "real"), ("link/", "real"), ("none", "none"), ("real/sub/..", "real"),
            ("link/../real", "real"), ("none/deeper/mnt", "none/deeper/mnt"),
            ("link/none/mnt", "real/none/mnt"),
        ]
        for (path, wanted) in cases {
            #expect(try Mountpoint.absolutePath(of: folder.path(path)) == folder.path(wanted), "\(path)")
        }
        #expect(try Mountpoint.absolutePath(of: "/") == "/")
        #expect(try Mountpoint.absolutePath(of: "/tmp/../") == "/")
        #expect(try Mountpoint.absolutePath(of: "/proc") == "/proc")
    }

    @Test func missingParentsAreCreatedAndRemoved() async throws {
        let mountpoint = try await Mountpoint.prepare(folder.path("a/b/mnt"))
        #expect(access(folder.path("a/b/mnt"), F_OK) == 0)
        mountpoint.abandon()
        #expect(access(folder.path("a"), F_OK) != 0)
        try folder.write([1], to: "file")
        let error = await #expect(throws: FuseError.self) {
            try await Mountpoint.prepare(folder.path("file/x/mnt"))
        }
        #expect(error?.code == .mountpoint)
    }

    @Test func relativePathsStartAtCurrentFolder() throws {
        let here = try #require(
            getcwd(nil, 0).map { pointer in
                defer { free(pointer) }
                return String(cString: pointer)
            })
        #expect(try Mountpoint.absolutePath(of: ".") == here)
        #expect(try Mountpoint.absolutePath(of: "") == here)
        #expect(try Mountpoint.absolutePath(of: "no such folder") == here + "/no such folder")
        #expect(try Mountpoint.absolutePath(of: "./a") == here + "/a")
    }

    @Test func unresolvablePathIsReported() throws {
        #expect(symlink(folder.path("nowhere"), folder.path("dangling")) == 0)
        #expect(symlink(folder.path("loop"), folder.path("loop")) == 0)
        for (path, code) in [
            ("dangling", ENOENT), ("loop", ELOOP), ("none/..", ENOENT),
        ] {
            let error = #expect(throws: FuseError.self, "\(path)") {
                try Mountpoint.absolutePath(of: folder.path(path))
            }
            #expect(error?.code == .mountpoint && (error?.cause as? SystemError)?.code == code, "\(path)")
        }
    }
}
