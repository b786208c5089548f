import Base
import ChatCore
import FileSystem

/// The totals of a mount's transfers. A value without input and output.
struct StatusTotals: Equatable {
    /// Files that are queued, sent or received at present.
    var files: Int
    /// Bytes of them that have been transferred, and all of them.
    var done: UInt64
    var bytes: UInt64
    /// Files that stopped, and requests of others: the user can do something about each.
    var waiting: Int

    init(_ status: MountStatus) {
        let moving = status.transfers.filter(Self.isMoving)
        files = moving.count
        done = moving.lazy.map(\.done).saturatingSum
        bytes = moving.lazy.map(\.size).saturatingSum
        waiting = status.transfers.count - files + (status.waiting?.requests ?? 0)
    }

    /// One line without a full stop.
    ///
    /// - Parameter rate: bytes per second; nil if unknown.
    func line(rate: UInt64?) -> String {
        guard files > 0 else { return "nothing on its way" }
        let percent = bytes == 0 ? 0 : Int(Double(done) / Double(bytes) * 100)
        var parts = [
            "\(files) \(files == 1 ? "file on its way" : "files on their way")",
            "\(ByteCount.rounded(done)) of \(ByteCount.rounded(bytes)) (\(percent) %)",
        ]
        if let rate {
            parts.append("\(ByteCount.rounded(rate))/s")
            if rate > 0, bytes > done { parts.append("\(Self.time((bytes - done) / rate + 1)) left") }
        }
        return parts.joined(separator: ", ")
    }

    static func isMoving(_ transfer: MountStatus.Transfer) -> Bool {
        ["queued", "sending", "receiving"].contains(transfer.state)
    }

    /// With two units at most: `45 s`, `3 min 20 s`, `5 h 2 min`, `9 d 4 h`.
    static func time(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }
}

extension MountStatus.Transfer {
    /// Bytes that have been transferred, as exact as the per cent.
    var done: UInt64 { progress >= 100 ? size : UInt64(Double(size) * Double(max(progress, 0)) / 100) }
}
