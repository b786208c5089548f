/// An operation of a program on the files below a folder, as recorded by `Recorder/recorder.c`.
enum DiskOperation: Equatable {
    case write(file: UInt64, offset: Int, bytes: [UInt8])
    case truncate(file: UInt64, size: Int)
    /// A new file with a name; numbers of removed files may be reused.
    case create(file: UInt64, path: String)
    /// A new file without a name (O_TMPFILE).
    case unnamed(file: UInt64)
    case makeFolder(path: String)
    case link(file: UInt64, path: String)
    case rename(from: String, to: String)
    case unlink(path: String)
    case removeFolder(path: String)
    case syncFile(UInt64)
    case syncFolder(path: String)
    case syncAll
    case zero(file: UInt64, offset: Int, count: Int)
    /// Grows the file to at least this size.
    case extend(file: UInt64, size: Int)
    /// Not an operation on the disk: a promise that the recording test has seen.
    case promise(String)

    /// The kinds of the recorder, and one of the test.
    private enum Kind: UInt8 {
        case write = 1
        case truncate, create, unnamed, folder, link, rename, unlink, removeFolder, syncFile, syncFolder,
            syncAll
        case zero, extend, promise
    }

    private static let headerSize = 32

    /// All records of a trace. Omits a last one that a kill truncated.
    static func all(in trace: [UInt8]) -> [DiskOperation]? {
        var operations: [DiskOperation] = []
        var rest = trace[...]
        while rest.count >= headerSize {
            let length = Int(number(rest, at: 0, count: 4))
            guard length >= headerSize else { return nil }
            if length > rest.count { break }
            guard let operation = DiskOperation(record: rest.prefix(length)) else { return nil }
            operations.append(operation)
            rest = rest.dropFirst(length)
        }
        return operations
    }

    private init?(record: ArraySlice<UInt8>) {
        guard let kind = Kind(rawValue: record[record.startIndex + 4]) else { return nil }
        let file = Self.number(record, at: 8, count: 8)
        let offset = Int(truncatingIfNeeded: Self.number(record, at: 16, count: 8))
        let size = Int(truncatingIfNeeded: Self.number(record, at: 24, count: 8))
        let payload = record.dropFirst(Self.headerSize)
        let paths = payload.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        switch kind {
        case .write: self = .write(file: file, offset: offset, bytes: Array(payload))
        case .truncate: self = .truncate(file: file, size: size)
        case .create: self = .create(file: file, path: paths[0])
        case .unnamed: self = .unnamed(file: file)
        case .folder: self = .makeFolder(path: paths[0])
        case .link: self = .link(file: file, path: paths[0])
        case .rename:
            guard paths.count >= 2 else { return nil }
            self = .rename(from: paths[0], to: paths[1])
        case .unlink: self = .unlink(path: paths[0])
        case .removeFolder: self = .removeFolder(path: paths[0])
        case .syncFile: self = .syncFile(file)
        case .syncFolder: self = .syncFolder(path: paths[0])
        case .syncAll: self = .syncAll
        case .zero: self = .zero(file: file, offset: offset, count: size)
        case .extend: self = .extend(file: file, size: size)
        case .promise: self = .promise(paths[0])
        }
    }

    /// The record of a promise.
    static func promiseRecord(_ text: String) -> [UInt8] {
        var record = [UInt8](repeating: 0, count: headerSize)
        let length = headerSize + text.utf8.count + 1
        for index in 0..<4 { record[index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
        record[4] = Kind.promise.rawValue
        return record + text.utf8 + [0]
    }

    private static func number(_ record: ArraySlice<UInt8>, at offset: Int, count: Int) -> UInt64 {
        let start = record.startIndex + offset
        return record[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
