import CSQLite
import Glibc
import Testing

@testable import SealedPages
@testable import Store

/// SQLite 3.45 and later read overflow content without the rest of its last page and without reserved bytes; earlier
/// versions read whole pages. Both work on one file.
@Suite struct PartialReadTests {
    private static let page = 4096
    let folder = SealedFolder()

    /// Calls `body` with a function that reads the database file like SQLite and returns result and bytes.
    private func withFile(
        _ body: (_ read: (_ count: Int, _ offset: Int) -> (result: Int32, bytes: [UInt8])) throws -> Void
    ) throws {
        let database = try folder.open()
        try database.put(1, "long", size: 40_000)
        try database.transaction { try $0.execute("UPDATE note SET content = randomblob(40000)") }
        try database.checkpoint()
        try database.read { connection in
            var pointer: UnsafeMutablePointer<sqlite3_file>?
            #expect(
                sqlite3_file_control(connection.handle, nil, SQLITE_FCNTL_FILE_POINTER, &pointer) == SQLITE_OK
            )
            let file = try #require(pointer)
            let methods = try #require(file.pointee.pMethods).pointee
            try body { count, offset in
                var bytes = [UInt8](repeating: 0xAA, count: count)
                let result = methods.xRead(file, &bytes, Int32(count), Int64(offset))
                return (result, bytes)
            }
        }
    }

    @Test func partsOfAPageAreReadCorrectly() throws {
        try withFile { read in
            for number in 1..<10 {
                let whole = read(Self.page, number * Self.page)
                #expect(whole.result == SQLITE_OK)
                for (start, count) in [(0, 1), (0, 4), (0, 1000), (0, Self.page - 40), (4, 100), (4095, 1)] {
                    let part = read(count, number * Self.page + start)
                    #expect(part.result == SQLITE_OK)
                    #expect(part.bytes == Array(whole.bytes[start..<start + count]))
                }
            }
        }
    }

    @Test func readsAcrossPagesAreRejected() throws {
        try withFile { read in
            for (count, start) in [(200, 4000), (Self.page, 100), (2 * Self.page, 0)] {
                #expect(read(count, Self.page + start).result == ResultCode.read)
            }
            // Beyond the end.
            #expect(read(100, 1000 * Self.page).result == ResultCode.damagedPage)
        }
    }

    @Test func partsOfADamagedPageAreRejected() throws {
        try withFile { read in
            var bytes = try Files.read(folder.database)
            bytes[bytes.count - 1000] ^= 1
            try Files.write(bytes, to: folder.database)
            let last = (0..<20).last { read(Self.page, $0 * Self.page).result != ResultCode.damagedPage } ?? 0
            let part = read(100, (last + 1) * Self.page)
            #expect(part.result == ResultCode.damagedPage)
            #expect(part.bytes == [UInt8](repeating: 0xAA, count: 100))
        }
    }

    @Test func longValuesOfAnySizeRoundTrip() throws {
        let database = try folder.open()
        for size in [1, 4000, 4056, 4057, 8000, 8112, 20_000, 261_120, 1 << 20] {
            try database.transaction { connection in
                try connection.execute(
                    "INSERT INTO note (id, text, content) VALUES (?, '', randomblob(?))", size, size)
            }
            let length = try database.read { connection in
                try connection.query("SELECT content FROM note WHERE id = ?", size) {
                    $0.bytes("content").count
                }
            }
            #expect(length == [size])
        }
        let before = try database.read { connection in
            try connection.query("SELECT content FROM note ORDER BY id") { $0.bytes("content") }
        }
        try database.checkpoint()
        let after = try folder.open().read { connection in
            try connection.query("SELECT content FROM note ORDER BY id") { $0.bytes("content") }
        }
        #expect(before == after)
    }
}
