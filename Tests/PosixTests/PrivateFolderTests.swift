import Glibc
import Posix
import TestSupport
import Testing

@Suite struct PrivateFolderTests {
    private let folder: TemporaryFolder
    private var base: String { folder.path }

    init() throws { folder = try TemporaryFolder() }

    @Test func aNewFolderIsPrivateAndReopens() throws {
        let folder = try PrivateFolder(base + "/a/b", purpose: "cache")
        #expect(try folder.directory.status().st_mode & 0o777 == 0o700)
        try folder.write([1, 2, 3], to: "file")
        let again = try PrivateFolder(base + "/a/b", purpose: "cache")
        #expect(try again.names() == [PrivateFolder.marker, "file"])
    }

    @Test func concurrentReplacementsAreAtomic() async throws {
        let folder = try PrivateFolder(base + "/shared", purpose: "cache")
        let bytes = [UInt8](repeating: 7, count: 5000)
        try folder.write(bytes, to: "version")
        let lengths = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        for _ in 0..<50 { try folder.write(bytes, to: "version") }
                        return []
                    }
                }
            }
            group.addTask {
                try await ThreadPool.shared.run {
                    try (0..<1000).map { _ in
                        try OpenFile("version", flags: O_RDONLY, in: folder.directory).readAll(limit: 10_000)
                            .count
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(lengths) == [bytes.count])
        #expect(try folder.names() == [PrivateFolder.marker, "version"])
    }

    @Test func aFolderWithAnEmptyMarkerIsUsedAgain() throws {
        mkdir(base + "/cache", 0o700)
        let unfinished = "\(base)/cache/.\(PrivateFolder.marker).new"
        _ = try OpenFile(unfinished, flags: O_WRONLY | O_CREAT)
        let folder = try PrivateFolder(base + "/cache", purpose: "cache")
        #expect(try folder.names() == [PrivateFolder.marker])
    }

    @Test func aFolderWithOtherFilesIsRefused() throws {
        mkdir(base + "/documents", 0o700)
        _ = try OpenFile(base + "/documents/letter", flags: O_WRONLY | O_CREAT)
        #expect(throws: SystemError(code: ENOTEMPTY, operation: "use a folder that holds other files")) {
            try PrivateFolder(base + "/documents", purpose: "cache")
        }
        #expect(access(base + "/documents/letter", F_OK) == 0)
    }

    @Test func aFolderOfAnotherPurposeIsRefused() throws {
        _ = try PrivateFolder(base + "/x", purpose: "relay")
        #expect(throws: SystemError.self) { try PrivateFolder(base + "/x", purpose: "cache") }
    }

    @Test func aFolderOpenToOthersIsRefused() {
        mkdir(base + "/open", 0o755)
        chmod(base + "/open", 0o755)
        #expect(throws: SystemError.self) { try PrivateFolder(base + "/open", purpose: "cache") }
    }

    @Test func aLinkInPlaceOfTheFolderIsNotFollowed() {
        mkdir(base + "/target", 0o700)
        symlink(base + "/target", base + "/link")
        #expect(throws: SystemError.self) { try PrivateFolder(base + "/link", purpose: "cache") }
        #expect(access(base + "/target/" + PrivateFolder.marker, F_OK) != 0)
    }

    @Test func emptyingRemovesLinksButNotTheirTargets() throws {
        mkdir(base + "/kept", 0o700)
        _ = try OpenFile(base + "/kept/letter", flags: O_WRONLY | O_CREAT)
        let folder = try PrivateFolder(base + "/cache", purpose: "cache")
        _ = try folder.subfolder("deep")
        symlink(base + "/kept", base + "/cache/link")
        symlink(base + "/kept", base + "/cache/deep/link")
        try folder.empty()
        #expect(try folder.names() == [PrivateFolder.marker])
        #expect(access(base + "/kept/letter", F_OK) == 0)
        try folder.remove()
        #expect(access(base + "/cache", F_OK) != 0)
    }
}
