import Base
import Cryptography
import Glibc
import Posix

/// The chunks on disk. Stored chunks and active uploads count towards the quota.
final class ChunkFiles: Sendable {
    private let folder: RelayFolder
    private let quota: Budget
    private let buffers = UploadBuffers()
    private let state = Lock(State())

    private struct State {
        /// The bytes of stored chunks.
        var stored: UInt64 = 0
        /// The number of uploads so far.
        var uploads: UInt64 = 0
        /// The sender IDs of chunks that are being moved to their place.
        var placing: Set<[UInt8]> = []
        /// The chunks being read, by sender ID.
        var reading: [[UInt8]: Reading] = [:]
    }

    private struct Reading {
        var count = 0
        /// Bytes deleted meanwhile. They stay on disk until the last reader closes the file.
        var deleted: UInt64 = 0
    }

    init(folder: RelayFolder, quota: Budget) {
        self.folder = folder
        self.quota = quota
    }

    /// Returns the file name of a chunk, as in the official relay.
    static func name(_ senderID: [UInt8]) -> String { Base64URL.encode(senderID) }

    /// Deletes files without a record (interrupted uploads and deletions). Returns the records whose file is missing or
    /// has a wrong length.
    func tidy(_ records: [ChunkRecord]) throws(SystemError) -> [ChunkRecord] {
        let byName = Dictionary(records.map { (Self.name($0.senderID), $0) }) { first, _ in first }
        var found: Set<String> = []
        var used: UInt64 = 0
        for name in try PrivateFolder.names(in: folder.chunks) {
            var status = stat()
            if let record = byName[name], fstatat(folder.chunks.descriptor, name, &status, 0) == 0,
                status.st_size == off_t(record.size)
            {
                found.insert(name)
                used += UInt64(record.size)
            } else {
                unlinkat(folder.chunks.descriptor, name, 0)
            }
        }
        state.withLock { $0.stored = used }
        quota.takeAnyway(used)
        return byName.filter { !found.contains($0.key) }.map(\.value)
    }

    /// The bytes of stored chunks.
    var stored: UInt64 { state.withLock { $0.stored } }

    /// Begins an upload. Returns nil if it would exceed the quota.
    func beginUpload(of record: ChunkRecord) throws(SystemError) -> ChunkUpload? {
        let size = UInt64(record.size)
        guard quota.take(size) else { return nil }
        let number = state.withLock { state in
            state.uploads += 1
            return state.uploads
        }
        do throws(SystemError) {
            let flags = O_RDWR | O_CREAT | O_EXCL
            let file = try OpenFile("\(number)", flags: flags, in: folder.incoming)
            return ChunkUpload(record: record, file: file, name: "\(number)", buffer: buffers.take())
        } catch {
            quota.giveBack(size)
            throw error
        }
    }

    /// Deletes the bytes of an upload.
    func discard(_ upload: ChunkUpload) {
        unlinkat(folder.incoming.descriptor, upload.name, 0)
        quota.giveBack(UInt64(upload.record.size))
    }

    /// Reserves the place of a chunk for one upload. Returns false if another upload holds it.
    func beginPlacing(_ record: ChunkRecord) -> Bool {
        state.withLock { $0.placing.insert(record.senderID).inserted }
    }

    func endPlacing(_ record: ChunkRecord) { state.withLock { _ = $0.placing.remove(record.senderID) } }

    /// Returns whether the chunk's file exists.
    func isPlaced(_ record: ChunkRecord) -> Bool {
        faccessat(folder.chunks.descriptor, Self.name(record.senderID), F_OK, 0) == 0
    }

    /// Moves a complete upload to its place and synchronizes it. Do not call it for a record that already has
    /// acknowledged bytes. The caller then marks the record and calls `settle`.
    func place(_ upload: ChunkUpload) throws(SystemError) {
        let name = Self.name(upload.record.senderID)
        // Rename first, so that one flush of the filesystem's journal covers data and name.
        try check("store a chunk") {
            renameat(folder.incoming.descriptor, upload.name, folder.chunks.descriptor, name)
        }
        do throws(SystemError) {
            try upload.file.synchronise()
            try folder.chunks.synchronise()
        } catch {
            // No record refers to these bytes yet.
            unlink(upload.record.senderID)
            throw error
        }
    }

    /// Ends the reservation of a placed upload.
    func settle(_ upload: ChunkUpload, _ marking: RelayRecords.Marking) {
        let size = UInt64(upload.record.size)
        if marking == .marked { state.withLock { $0.stored += size } } else { quota.giveBack(size) }
        if marking == .isGone { unlink(upload.record.senderID) }
    }

    /// Deletes the bytes of a chunk without a record.
    func remove(_ record: ChunkRecord) {
        let size = UInt64(record.size)
        unlink(record.senderID)
        let isFree = state.withLock { state in
            state.stored -= min(state.stored, size)
            state.reading[record.senderID]?.deleted += size
            return state.reading[record.senderID] == nil
        }
        if isFree { quota.giveBack(size) }
    }

    private func unlink(_ senderID: [UInt8]) {
        unlinkat(folder.chunks.descriptor, Self.name(senderID), 0)
    }

    /// Opens a chunk for reading. An open chunk stays readable after its deletion and counts towards the quota.
    func open(_ record: ChunkRecord) throws(SystemError) -> OpenChunk {
        // Count the reader before opening, so that a concurrent deletion sees it.
        state.withLock { $0.reading[record.senderID, default: Reading()].count += 1 }
        do throws(SystemError) {
            let file = try OpenFile(
                Self.name(record.senderID), flags: O_RDONLY | O_NOFOLLOW, in: folder.chunks)
            return OpenChunk(file: file) { [self] in closed(record.senderID) }
        } catch {
            closed(record.senderID)
            throw error
        }
    }

    private func closed(_ senderID: [UInt8]) {
        let deleted = state.withLock { state -> UInt64 in
            state.reading[senderID]?.count -= 1
            guard let reading = state.reading[senderID], reading.count == 0 else { return 0 }
            state.reading[senderID] = nil
            return reading.deleted
        }
        if deleted > 0 { quota.giveBack(deleted) }
    }
}

/// A chunk that is being read.
final class OpenChunk: Sendable {
    private let file: OpenFile
    private let whenClosed: @Sendable () -> Void

    fileprivate init(file: OpenFile, whenClosed: @escaping @Sendable () -> Void) {
        self.file = file
        self.whenClosed = whenClosed
    }

    deinit { whenClosed() }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }
}
