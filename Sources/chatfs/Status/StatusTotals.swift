import Base
import ChatCore
import FileSystem

/// The totals of a mount's transfers. A pure value.
struct StatusTotals: Equatable {
    /// Number of files being queued, sent or received.
    var files: Int
    /// Transferred bytes of these files.
    var done: UInt64
    /// Total bytes of these files.
    var bytes: UInt64
    /// Number of stopped files and contact requests, which wait for the user.
    var waiting: Int

    init(_ status: MountStatus) {
        let moving = status.transfers.filter(Self.isMoving)
        files = moving.count
        done = moving.lazy.map(\.done).saturatingSum
        bytes = moving.lazy.map(\.size).saturatingSum
        waiting = status.transfers.count - files + (status.waiting?.requests ?? 0)
    }

    /// Returns one line without a full stop.
    ///
    /// - Parameter rate: Bytes per second; nil if unknown.
    func line(rate: UInt64?) -> String {
        guard files > 0 else { return "no transfers" }
        let percent = bytes == 0 ? 0 : Int(Double(done) / Double(bytes) * 100)
        var parts = [
            "\(files) \(files == 1 ? "transfer" : "transfers")",
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

    /// Formats seconds with at most two units: `45 s`, `3 min 20 s`, `5 h 2 min`, `9 d 4 h`.
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
    /// Transferred bytes, with the precision of the percentage.
    var done: UInt64 { progress >= 100 ? size : UInt64(Double(size) * Double(max(progress, 0)) / 100) }
}
