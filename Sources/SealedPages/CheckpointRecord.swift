import Cryptography

/// What the database file says of the log that pages came from last. Each page of a file is authentic by itself; this
/// keeps an authentic file and an authentic log that do not belong together from being mixed: half of a log's pages
/// in the file and the log damaged or gone, or an older log put back.
///
/// Written when a checkpoint begins to write pages, and before it makes them durable. That it reaches the disk later
/// than a page of the checkpoint would only matter where power is lost and the log damaged at once.
struct CheckpointRecord: Equatable {
    static let contentLength = LogIdentity.length + 8
    static let record = FileLayout.Record(
        kind: .checkpoint, number: 0, offset: 0, length: contentLength,
        position: DatabaseHeader.checkpointPosition, sealedLength: contentLength + RecordCipher.overhead)

    let log: LogIdentity
    /// The frames of it that are being written to the file, or were.
    let frames: UInt32
    /// All of the log is in the file: it may go, or be begun anew.
    let isFinished: Bool

    init(log: LogIdentity, frames: UInt32, isFinished: Bool) {
        self.log = log
        self.frames = frames
        self.isFinished = isFinished
    }

    /// - Parameter content: `contentLength` bytes. Nil: such a record was never written.
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

    /// Whether a log may be read beside the file.
    ///
    /// - Parameters:
    ///   - predecessor: what its header says of the log before it.
    ///   - length: how many frames there are.
    func allows(_ found: LogIdentity, after predecessor: LogIdentity, frames length: Int64) -> Bool {
        if found == log { return length >= Int64(frames) }
        return isFinished && predecessor == log
    }
}
