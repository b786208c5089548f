import Base
import FileSystem

/// The last error of a mount's transfers as text.
enum LastErrorLine {
    /// Older ones are not shown.
    private static let longest: Int64 = 86_400

    /// Returns one line without indentation; nil if there is nothing to show.
    static func text(_ last: MountStatus.LastError?, now: Timestamp) -> String? {
        guard let last else { return nil }
        let age = max(0, now.seconds - last.time)
        guard age < longest else { return nil }
        let subject = last.path.isEmpty ? "" : "\(last.path): "
        let pause = (last.nextTry ?? 0) - now.seconds
        let next = pause > 0 ? " The next attempt is in \(StatusTotals.time(UInt64(pause)))." : ""
        return "last error \(StatusTotals.time(UInt64(age))) ago: \(subject)\(last.error)\(next)"
    }
}
