import Cryptography

/// Records in the database file the log whose pages it holds. Each page and log frame is authentic by itself. This
/// record detects a file and a log that do not belong together: a partial checkpoint with a damaged or missing log, or
/// an older log.
///
/// Written when a checkpoint begins to write pages and before it synchronizes them. A power cut that keeps a page but
/// not this record would matter only if the log is damaged at the same time.
struct CheckpointRecord: Equatable {
    static let contentLength = LogIdentity.length + 8
    static let record = FileLayout.Record(
        kind: .checkpoint, number: 0, offset: 0, length: contentLength,
        position: DatabaseHeader.checkpointPosition, sealedLength: contentLength + RecordCipher.overhead)

    let log: LogIdentity
    /// The number of frames that the checkpoint writes or wrote to the file.
    let frames: UInt32
    /// Whether the file holds the whole log, so that the log may be deleted or restarted.
    let isFinished: Bool

    init(log: LogIdentity, frames: UInt32, isFinished: Bool) {
        self.log = log
        self.frames = frames
        self.isFinished = isFinished
    }

    /// Returns nil for an invalid record.
    /// - Parameter content: `contentLength` bytes.
    init?(_ content: UnsafeRawPointer) {
        log = LogIdentity(content)
        frames = UInt32(littleEndian: content.loadUnaligned(fromByteOffset: 24, as: UInt32.self))
        switch UInt32(littleEndian: content.loadUnaligned(fromByteOffset: 28, as: UInt32.self)) {
        case 1: isFinished = false
        case 2: isFinished = true
        default: return nil
        }
    }

    func store(to content: UnsafeMutableRawPointer) {
        log.store(to: content)
        content.storeBytes(of: frames.littleEndian, toByteOffset: 24, as: UInt32.self)
        content.storeBytes(of: UInt32(isFinished ? 2 : 1).littleEndian, toByteOffset: 28, as: UInt32.self)
    }

    /// Returns whether a log may be read with the file.
    ///
    /// - Parameters:
    ///   - found: The identity of the log.
    ///   - predecessor: The identity of the previous log, from the log's header.
    ///   - length: The number of frames in the log.
    func allows(_ found: LogIdentity, after predecessor: LogIdentity, frames length: Int64) -> Bool {
        if found == log { return length >= Int64(frames) }
        return isFinished && predecessor == log
    }
}
