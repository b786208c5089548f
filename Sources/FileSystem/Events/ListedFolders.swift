import Namespace

/// Delays notices of folders until their listing settles. GTK 3 adds a file to its dialog for each inotify(7) event,
/// and again when its listing reaches the file (`gtkfilesystemmodel.c`). A notice during the listing would show the
/// file twice. A pure value.
///
/// A folder counts as listed for `pause` after the last request of its listing. Its notices are held in order, each for
/// at most `limit`, so that a folder that is listed continually gets its notices too.
struct ListedFolders: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Held {
        var since: Instant
        var notices: [WatcherNotice] = []
    }

    /// Time of the last listing request, by folder.
    private var listed: [NodeID: Instant] = [:]
    private var held: [NodeID: Held] = [:]

    static let pause = Duration.milliseconds(500)
    static let limit = Duration.seconds(2)
    /// Number of entries from which expired ones are swept.
    private static let sweepSize = 64

    mutating func listed(_ folder: NodeID, now: Instant) {
        if listed.count >= Self.sweepSize { listed = listed.filter { $0.value + Self.pause > now } }
        listed[folder] = now
    }

    /// Holds the notice. Returns false if it is due now.
    mutating func hold(_ notice: WatcherNotice, now: Instant) -> Bool {
        let folder = notice.folder
        if held[folder] == nil {
            guard let last = listed[folder], last + Self.pause > now else { return false }
            held[folder] = Held(since: now)
        }
        held[folder]?.notices.append(notice)
        return true
    }

    /// Removes and returns the due notices, in order within a folder.
    mutating func takeDue(now: Instant) -> [WatcherNotice] {
        var due: [WatcherNotice] = []
        for (folder, one) in held where end(of: folder, one) <= now {
            held[folder] = nil
            due += one.notices
        }
        return due
    }

    /// Earliest due time; nil if no notice is held.
    var nextDue: Instant? { held.map { end(of: $0.key, $0.value) }.min() }

    private func end(of folder: NodeID, _ held: Held) -> Instant {
        min(held.since + Self.limit, listed[folder].map { $0 + Self.pause } ?? held.since)
    }
}
