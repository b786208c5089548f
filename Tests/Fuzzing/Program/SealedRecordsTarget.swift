import CSQLite
import Cryptography

@testable import SealedPages

extension Target {
    /// The records of a database and its log in SQLite's order, without SQLite: a hundred times as fast as
    /// "sealed-database".
    static let sealedRecords = Target(
        "sealed-records", "damaged pages, frames and headers of sealed databases", longest: 256
    ) { bytes in
        var input = Input(bytes)
        var (database, log) = SealedDatabaseFixture.files
        if input.bool() { database.removeLast(Int(input.integer() & 0xFFFF) % database.count) }
        if input.bool() { log.removeLast(Int(input.integer() & 0xFFFFF) % log.count) }
        let (isHeaderAsked, isMoved, isRecovering) = (
            input.number(below: 64) == 63, input.bool(), input.bool()
        )
        if isMoved { SealedRecords.move(&log, from: input.byte(), to: input.byte(), FileLayout.log) }
        if isMoved { SealedRecords.move(&database, from: input.byte(), to: input.byte(), .database) }
        SealedDatabaseFixture.change(&database, by: input.some())
        SealedDatabaseFixture.change(&log, by: input.rest())
        guard let found = SealedRecords(database, log) else { return }
        defer { found.close() }
        let whole = SealedRecords.whole
        for page in 0...whole.pages.count {
            guard let content = found.page(page) else { continue }
            hold(page < whole.pages.count, "behind the end there is no page")
            hold(
                content[...].hasBytes(of: whole.pages[page][...]), "a page is the one that was written there")
        }
        if isHeaderAsked { _ = found.databaseHeader() }
        // As in SQLite's recovery of a log, or in reading frames of a known one.
        guard let header = found.logHeader(), header[...].hasBytes(of: whole.logHeader[...]) else { return }
        for frame in 0...whole.frames.count {
            guard let content = found.frame(frame, isRecovering: isRecovering) else { continue }
            if isRecovering, content[...].hasBytes(of: zeros[...]) { break }
            hold(frame < whole.frames.count, "behind the end there is no frame")
            hold(
                content[...].hasBytes(of: whole.frames[frame][...]),
                "a frame is the one that was written there")
        }
    }

    /// SQLite is told the end of an incomplete log.
    private static let zeros = [UInt8](repeating: 0, count: FileLayout.frameLength)
}

/// A sealed database and its log in memory, read through the layer under SQLite.
private struct SealedRecords {
    private let files: [MemoryDatabaseFile]
    private let database: DatabaseFile
    private let log: LogFile

    /// The contents of an undamaged one.
    static let whole: (pages: [[UInt8]], logHeader: [UInt8], frames: [[UInt8]]) = {
        let (database, log) = SealedDatabaseFixture.files
        guard let records = SealedRecords(database, log), let header = records.logHeader() else {
            fatalError("what is whole can be read")
        }
        defer { records.close() }
        let pages = (0..<database.count / FileLayout.pageSize - 1).map { records.page($0) }
        let count = (log.count - FileLayout.sealedLogHeaderLength) / FileLayout.sealedFrameLength
        let frames = (0..<count).map { records.frame($0, isRecovering: false) }
        hold(!pages.contains(nil) && !frames.contains(nil), "each page and frame can be read")
        hold(pages.count > 1 && frames.count > 3, "there are some")
        return (pages.compactMap(\.self), header, frames.compactMap(\.self))
    }()

    /// Nil if the first page does not belong to a database with this key.
    init?(_ databaseBytes: [UInt8], _ logBytes: [UInt8]) {
        let start = Array(databaseBytes.prefix(DatabaseHeader.provenLength))
        guard
            let header = try? DatabaseHeader.parse(
                start, size: Int64(databaseBytes.count), dataKey: SealedDatabaseFixture.key)
        else { return nil }
        files = [MemoryDatabaseFile(databaseBytes), MemoryDatabaseFile(logBytes)]
        database = DatabaseFile(
            files[0].file, cipher: RecordCipher(key: header.recordKey(from: SealedDatabaseFixture.key)))
        log = LogFile(files[1].file, of: database)
    }

    func close() {
        log.close()
        database.close()
        for file in files { file.close() }
    }

    func page(_ number: Int) -> [UInt8]? {
        read(FileLayout.pageSize) { database.read($0, at: Int64(number * FileLayout.pageSize)) }
    }

    /// The bytes that SQLite reads when it opens the file.
    func databaseHeader() -> [UInt8]? { read(100) { database.read($0, at: 0) } }

    func logHeader() -> [UInt8]? { read(FileLayout.logHeaderLength) { log.read($0, at: 0) } }

    func frame(_ number: Int, isRecovering: Bool) -> [UInt8]? {
        let offset = Int64(FileLayout.logHeaderLength + number * FileLayout.frameLength)
        guard !isRecovering else { return read(FileLayout.frameLength) { log.read($0, at: offset) } }
        // In two parts, unlike the recovery of a log.
        let header = read(FileLayout.frameHeaderLength) { log.read($0, at: offset) }
        let page = read(FileLayout.pageSize) {
            log.read($0, at: offset + Int64(FileLayout.frameHeaderLength))
        }
        return header.flatMap { header in page.map { header + $0 } }
    }

    private func read(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0xA5, count: count)
        return bytes.withUnsafeMutableBytes(body) == SQLITE_OK ? bytes : nil
    }

    /// Copies a record over another one of the same kind: authentic bytes in a wrong place.
    static func move(_ bytes: inout [UInt8], from source: UInt8, to target: UInt8, _ layout: FileLayout) {
        let first = layout == .log ? FileLayout.sealedLogHeaderLength : FileLayout.pageSize
        let length = layout == .log ? FileLayout.sealedFrameLength : FileLayout.pageSize
        let count = max(0, bytes.count - first) / length
        guard count > 0 else { return }
        let from = first + Int(source) % count * length
        let to = first + Int(target) % count * length
        bytes.replaceSubrange(to..<to + length, with: bytes[from..<from + length])
    }
}
