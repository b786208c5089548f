import Base
import Glibc
import Posix
import Store
import Testing

@Suite struct FullDiskTests {
    /// A file size limit acts like a full disk without root, so this test runs itself in a child process.
    @Test func fullDiskKeepsCommittedContent() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let folder = ScratchFolder()
            let database = try folder.database()
            try database.transaction { connection in
                try connection.execute("INSERT INTO folder (id, name) VALUES (1, 'a')")
            }
            var limit = rlimit(rlim_cur: 200_000, rlim_max: rlim_t.max)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            try #require(setrlimit(resource, &limit) == 0)
            let error = #expect(throws: StoreError.self) {
                try database.transaction { connection in
                    try connection.execute(
                        "INSERT INTO note (folder, content) VALUES (1, ?)",
                        [UInt8](repeating: 7, count: 1_000_000))
                }
            }
            #expect(error?.code == .diskFull)
            #expect(error?.sentence.contains("full") == true)
            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(resource, &limit) == 0)
            #expect(try database.count("folder") == 1)
            #expect(try database.count("note") == 0)
            try database.transaction { try $0.execute("INSERT INTO note (folder) VALUES (1)") }
            #expect(try database.count("note") == 1)
        }
    }

    @Test func reserveOnANearlyFullDiskOnlyGrows() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let folder = ScratchFolder()
            func limit(_ bytes: rlim_t) throws {
                var limit = rlimit(rlim_cur: bytes, rlim_max: rlim_t.max)
                try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            }
            func reserved() throws -> UInt64 {
                try OpenFile(folder.path + "/notes.db-reserve", flags: O_RDONLY).size()
            }
            try limit(200_000)
            let database = try Database(
                path: folder.path + "/notes.db", migrations: [notes], reservesSpace: true)
            #expect(try reserved() == 128 << 10)
            try limit(100_000)
            database.reserveSpace()
            #expect(try reserved() == 128 << 10)
            try limit(rlim_t.max)
            database.reserveSpace()
            #expect(try reserved() == 256 << 10)
        }
    }
}
