import Base
import Cryptography
import Glibc
import Posix

@testable import KeySlots
@testable import SealedPages
@testable import Store

extension Target {
    static let sealedPages = [
        Target("database-header", "the first page of a sealed database", longest: 256) { bytes in
            let key = SealedDatabaseFixture.key
            var page = SealedDatabaseFixture.header
            var input = Input(bytes)
            if input.bool() {
                page = input.rest()
            } else {
                SealedDatabaseFixture.change(&page, by: input.rest())
            }
            guard let header = try? DatabaseHeader.parse(page, size: 8192, dataKey: key) else { return }
            hold(page.starts(with: SealedDatabaseFixture.header[..<128]), "only what was written is a header")
            hold(header.identity == Array(SealedDatabaseFixture.header[32..<64]), "its identity is read")
        },
        Target("key-slots", "files of wrapped keys", longest: 512) { bytes in
            var input = Input(bytes)
            var file = SealedDatabaseFixture.slots.encoded
            if input.bool() {
                file = input.rest()
            } else {
                SealedDatabaseFixture.change(&file, by: input.rest())
            }
            // As in a forgery.
            let forged = file.dropLast(BLAKE2b.length) + BLAKE2b.hash(file.dropLast(BLAKE2b.length))
            for file in [file, Array(forged)] {
                guard let slots = try? KeySlots(file) else { continue }
                hold(slots.encoded == file, "what is read is written alike")
                guard let found = try? slots.unlock(with: .key(SealedDatabaseFixture.key)) else { continue }
                hold(found.slot == SealedDatabaseFixture.slots.slots[0], "only the slot that was made opens")
            }
        },
        Target("recovery-code", "recovery codes", longest: 256) { bytes in
            guard let code = try? RecoveryCode(bytes.text) else { return }
            hold((try? RecoveryCode(code.text))?.text == code.text, "a code is read as it is shown")
        },
        Target("log-places", "where a sealed log and database have their records", longest: 16) { bytes in
            var input = Input(bytes)
            let layout = input.bool() ? FileLayout.log : .database
            let offset = input.integer() & 0xFFFF_FFFF_FFFF
            let record = layout.record(at: offset)
            hold(record.offset <= offset && offset < record.end, "an offset is in its record")
            hold(layout.record(at: record.end - 1).position == record.position, "a record is one")
            hold(layout.size(ofLength: record.end) == record.position + Int64(record.sealedLength), "it ends")
            hold(layout.length(ofSize: offset) <= offset, "nothing is longer than it is on disk")
            let next = layout.record(at: record.end)
            hold(next.position == record.position + Int64(record.sealedLength), "nothing lies between")
        },
        Target("sealed-database", "damaged databases and logs", longest: 256) { bytes in
            var input = Input(bytes)
            var (database, log) = SealedDatabaseFixture.files
            if input.bool() { database.removeLast(Int(input.integer() & 0xFFFF) % database.count) }
            if input.bool() { log.removeLast(Int(input.integer() & 0xFFFFF) % log.count) }
            let isWhole = input.number(below: 16) == 15
            SealedDatabaseFixture.change(&database, by: input.some())
            SealedDatabaseFixture.change(&log, by: input.rest())
            let path = Scratch.newPath("sealed")
            defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
            SealedDatabaseFixture.write(database, to: path)
            SealedDatabaseFixture.write(log, to: path + "-wal")
            // Opened as in the program only sometimes: a schema check damages no record.
            let found =
                isWhole
                ? try? SealedDatabaseFixture.databaseContents(path)
                : try? SealedDatabaseFixture.contents(path)
            guard let found else { return }
            hold(
                found == Array(SealedDatabaseFixture.texts.prefix(found.count)), "what is read was committed")
        },
    ]
}

enum SealedDatabaseFixture {
    static let key = SecretBytes([UInt8](repeating: 7, count: 32))
    static let header = DatabaseHeader(identity: [UInt8](repeating: 3, count: 32)).encoded(provenBy: key)
    static let slots: KeySlots = {
        guard let slots = try? KeySlots(key, for: .key(key), at: Timestamp(seconds: 1)) else {
            fatalError("slots can be made")
        }
        return slots
    }()
    static let texts = (0..<4).map { "note \($0)" }
    private static let notes = Migration(
        "notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT) STRICT")

    /// A database without any frame of the log, and a log of some transactions.
    static let files: ([UInt8], [UInt8]) = {
        let path = Scratch.newPath("sealed")
        defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        guard let database = try? Database(path: path, migrations: [notes], key: key),
            (try? database.checkpoint()) != nil
        else { fatalError("a database can be made") }
        for text in texts {
            guard
                (try? database.transaction { try $0.execute("INSERT INTO note (text) VALUES (?)", text) })
                    != nil
            else { fatalError("a row can be written") }
        }
        return (bytes(at: path), bytes(at: path + "-wal"))
    }()

    static func contents(_ path: String) throws -> [String] {
        try notes(in: Connection(path: path, key: key))
    }

    static func databaseContents(_ path: String) throws -> [String] {
        try Database(path: path, migrations: [notes], key: key).read { try notes(in: $0) }
    }

    private static func notes(in connection: Connection) throws -> [String] {
        try connection.query("SELECT text FROM note ORDER BY id") { $0.text("text") }
    }

    /// Three bytes select the place, one the change.
    static func change(_ bytes: inout [UInt8], by changes: [UInt8]) {
        for start in stride(from: 0, to: changes.count - 3, by: 4) where !bytes.isEmpty {
            let place = Int(changes[start]) << 16 | Int(changes[start + 1]) << 8 | Int(changes[start + 2])
            bytes[place % bytes.count] ^= changes[start + 3]
        }
    }

    static func write(_ bytes: [UInt8], to path: String) {
        guard let file = try? OpenFile(path, flags: O_RDWR | O_CREAT, mode: 0o600),
            (try? file.write(bytes, at: 0)) != nil
        else { return hold(false, "a file can be written") }
    }

    private static func bytes(at path: String) -> [UInt8] {
        guard let bytes = try? OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 20) else {
            fatalError("a file can be read")
        }
        return bytes
    }
}
