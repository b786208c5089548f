import Base
import CSQLite
import Glibc
import Posix
import Testing

@testable import Store

/// The mapping of SQLite results to errors; temporary conditions are not damage.
@Suite("Store errors")
struct StoreErrorTests {
    private static func code(_ result: Int32, _ system: Int32 = 0) -> StoreError.Code {
        StoreError(resultCode: result, message: "message", systemError: system).code
    }

    /// Primary result codes, and some extended ones (https://sqlite.org/rescode.html).
    @Test(
        "each result maps to its code",
        arguments: [
            (SQLITE_FULL, .diskFull), (SQLITE_BUSY, .busy), (SQLITE_LOCKED, .busy), (SQLITE_PROTOCOL, .busy),
            (SQLITE_BUSY | 1 << 8, .busy), (SQLITE_BUSY | 2 << 8, .busy), (SQLITE_NOMEM, .noMemory),
            (SQLITE_IOERR | 12 << 8, .noMemory), (SQLITE_CORRUPT, .damaged),
            (SQLITE_CORRUPT | 1 << 8, .damaged),
            (SQLITE_NOTADB, .damaged), (SQLITE_CONSTRAINT, .constraint),
            (SQLITE_CONSTRAINT | 8 << 8, .constraint),
            (SQLITE_CANTOPEN, .notAllowed), (SQLITE_CANTOPEN | 2 << 8, .notAllowed),
            (SQLITE_PERM, .notAllowed),
            (SQLITE_READONLY, .notAllowed), (SQLITE_READONLY | 4 << 8, .notAllowed),
            (SQLITE_AUTH, .notAllowed),
            (SQLITE_IOERR, .inputOutput), (SQLITE_IOERR | 1 << 8, .inputOutput),
            (SQLITE_IOERR | 32 << 8, .damagedPage), (SQLITE_ERROR, .invalidStatement),
            (SQLITE_MISUSE, .invalidStatement), (SQLITE_RANGE, .invalidStatement),
            (SQLITE_TOOBIG, .invalidStatement),
        ] as [(Int32, StoreError.Code)])
    func results(result: Int32, code: StoreError.Code) {
        let error = StoreError(resultCode: result, message: "message", systemError: 0)
        #expect(error.code == code)
        #expect(error.resultCode == result && error.cause == nil)
        #expect(error.sentence.hasSuffix(".") && !error.sentence.contains("\n"))
    }

    @Test("errno counts only for file operations")
    func systemErrors() {
        for system in [ENOSPC, EDQUOT, EFBIG] {
            #expect(Self.code(SQLITE_IOERR | 3 << 8, system) == .diskFull)
        }
        for result in [SQLITE_IOERR, SQLITE_IOERR | 7 << 8, SQLITE_CANTOPEN] {
            #expect(Self.code(result, EMFILE) == .tooManyFiles && Self.code(result, ENFILE) == .tooManyFiles)
            #expect(Self.code(result, ENOMEM) == .noMemory)
        }
        #expect(
            Self.code(SQLITE_IOERR, EIO) == .inputOutput && Self.code(SQLITE_CANTOPEN, EACCES) == .notAllowed)
        for result in [SQLITE_CORRUPT, SQLITE_BUSY, SQLITE_ERROR, SQLITE_CONSTRAINT] {
            #expect(
                Self.code(result, EMFILE) == Self.code(result)
                    && Self.code(result, ENOMEM) == Self.code(result))
        }
        // A damaged page stays damage after errors of earlier calls.
        #expect(Self.code(SQLITE_IOERR | 32 << 8, ENOSPC) == .damagedPage)
        let failed = StoreError(resultCode: SQLITE_IOERR, message: "", systemError: EIO)
        #expect(failed.sentence.contains(String(cString: strerror(EIO))))
    }

    @Test(
        "file creation errors map their errno",
        arguments: [
            (ENOSPC, .diskFull), (EDQUOT, .diskFull), (EFBIG, .diskFull), (EMFILE, .tooManyFiles),
            (ENFILE, .tooManyFiles), (ENOMEM, .noMemory), (EACCES, .notAllowed), (EROFS, .notAllowed),
            (ENOENT, .notAllowed),
        ] as [(Int32, StoreError.Code)])
    func files(errno: Int32, code: StoreError.Code) {
        let cause = SystemError(code: errno, operation: "open a file")
        let error = StoreError(cause)
        #expect(error.code == code && error.sentence == cause.sentence)
        #expect(error.cause as? SystemError == cause)
    }
}

/// Each runs in a separate process with lower limits.
@Suite("Exhausted resources")
struct ExhaustedTests {
    private static func lowerFiles() throws -> [OpenFile] {
        var limit = rlimit(rlim_cur: 200, rlim_max: rlim_t.max)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        try check("lower a limit") {
            getrlimit(resource, &limit)
            limit.rlim_cur = min(200, limit.rlim_max)
            return setrlimit(resource, &limit)
        }
        var held: [OpenFile] = []
        while let file = try? OpenFile("/dev/null", flags: O_RDONLY) { held.append(file) }
        return held
    }

    @Test("no free descriptor is tooManyFiles")
    func files() async {
        await #expect(processExitsWith: .success) {
            let folder = ScratchFolder()
            try folder.database().close()
            var held = try ExhaustedTests.lowerFiles()
            for name in ["notes.db", "new.db"] {
                let error = #expect(throws: StoreError.self, "\(name)") {
                    try Database(path: "\(folder.path)/\(name)", migrations: [notes])
                }
                #expect(error?.code == .tooManyFiles, "\(name): \(String(describing: error))")
            }
            #expect(access(folder.path + "/new.db", F_OK) != 0)
            let check = #expect(throws: StoreError.self) {
                try DatabaseCheck.problems(path: folder.path + "/notes.db")
            }
            #expect(check?.code == .tooManyFiles)
            held = []
            #expect(try folder.database().count("folder") == 0)
            #expect(try DatabaseCheck.problems(path: folder.path + "/notes.db") == [])
            withExtendedLifetime(held) {}
        }
    }

    @Test("out of memory is not damage and recovers")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let folder = ScratchFolder()
            let database = try folder.database()
            try database.transaction { try $0.execute("INSERT INTO folder (id, name) VALUES (1, 'a')") }
            _ = try database.read { try $0.exists("PRAGMA hard_heap_limit = 3000000") }
            let error = #expect(throws: StoreError.self) {
                try database.transaction { connection in
                    try connection.execute(
                        "INSERT INTO note (folder, content) VALUES (1, zeroblob(9000000) || x'00')")
                }
            }
            #expect(error?.code == .noMemory, "\(String(describing: error))")
            #expect(try database.count("note") == 0)
        }
    }
}
