import Base
import Cryptography
import Glibc
import Posix
import Store
import TestSupport
import Testing

/// Writers in separate processes, killed at random.
@Suite struct KilledWriterTests {
    private static let key = [UInt8](0..<32)

    /// Writes groups of three rows and reports each commit, until killed.
    private static func write(to path: String, seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        let told = try OpenFile(path + ".told", flags: O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        let database = try Database(path: path, migrations: [notes], key: SecretBytes(key))
        let killed = UInt32.random(in: 0..<150_000, using: &random)
        Thread.start("killer") {
            usleep(killed)
            kill(getpid(), SIGKILL)
        }
        while true {
            let number = try database.transaction { connection in
                let last = try connection.first("SELECT max(id) AS last FROM note") {
                    $0.integerOrNil("last") ?? 0
                }
                let next = (last ?? 0) + 1
                for row in next..<next + 3 {
                    let size = Int.random(in: 0..<7000, using: &random)
                    try connection.execute(
                        "INSERT INTO note (id, text, content) VALUES (?, ?, ?)", row,
                        "mark-of-a-text \(seed) \(next)",
                        [UInt8]("mark-of-bytes".utf8) + [UInt8](repeating: 7, count: size))
                }
                return next + 2
            }
            if Int.random(in: 0..<15, using: &random) == 0 { try database.checkpoint() }
            _ = withUnsafeBytes(of: number) { Glibc.write(told.descriptor, $0.baseAddress!, 8) }
        }
    }

    @Test func commitsSurviveKilledWriters() async throws {
        let folder = SealedFolder()
        let path = folder.database
        // `CHATFS_SEALED_KILLS`: the number of rounds with two writers each.
        let rounds = getenv("CHATFS_SEALED_KILLS").flatMap { Int(String(cString: $0)) } ?? 6
        for round in 0..<rounds {
            let seed = UInt64(round * 2)
            async let first: Void = killedWriter(path, seed)
            async let second: Void = killedWriter(path, seed + 1)
            _ = await (first, second)
            try expectNoMarks(in: folder)
            let told = (try? Files.read(path + ".told")) ?? []
            let least = stride(from: 0, to: told.count, by: 8).map { start in
                told.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: Int64.self) }
            }.max()
            let database = try folder.open(key: SecretBytes(Self.key))
            #expect(try database.integrity() == ["ok"])
            let texts = try database.texts()
            #expect(texts.count >= least ?? 0 && texts.count % 3 == 0)
            for start in stride(from: 0, to: texts.count, by: 3) {
                #expect(Set(texts[start..<start + 3]).count == 1)
            }
            try expectNoMarks(in: folder)
        }
        #expect(try folder.open(key: SecretBytes(Self.key)).texts().count > 0)
    }

    private func killedWriter(_ path: String, _ seed: UInt64) async {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, seed = seed as UInt64] in
            try KilledWriterTests.write(to: path, seed: seed)
        }
    }

    private func expectNoMarks(in folder: SealedFolder) throws {
        for suffix in ["", "-wal", "-shm"] where access(folder.database + suffix, F_OK) == 0 {
            let bytes = try Files.read(folder.database + suffix)
            for mark in ["mark-of-", "SQLite format", "CREATE TABLE", "schema_version"] {
                #expect(!bytes.contains(mark: mark), "\(mark) in \(suffix)")
            }
        }
        #expect(access(folder.database + "-journal", F_OK) != 0)
    }
}
